//! A schema of a custom resource definition and an object, both as JSON: the schema is validated, and if it parses, the
//! object is defaulted, pruned and validated with its rules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outrigger_structural::schema::{
    Schema, apply_defaults, prune_unknown, validate_custom_resource, validate_definition,
};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let Some(Ok(schema)) = documents.next() else { return };
    let object = match documents.next() {
        Some(Ok(object)) => object,
        _ => Value::Object(serde_json::Map::new()),
    };
    let _ = validate_definition(&schema, "schema", true);
    let Ok(parsed) = Schema::structural(&schema) else { return };
    let mut new = object.clone();
    apply_defaults(&mut new, parsed.root());
    prune_unknown(&mut new, parsed.root());
    let _ = validate_custom_resource(&new, None, parsed.root());
    let _ = validate_custom_resource(&new, Some(&object), parsed.root());
});
