//! A schema of a custom resource definition and an object, both as JSON: the schema is validated, and if it parses, the
//! object is defaulted, pruned and validated with its rules. Most mutations keep them valid JSON.
#![no_main]

#[path = "../mutate.rs"]
mod mutate;

use std::sync::atomic::{AtomicUsize, Ordering};

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
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
    count(validate_definition(&schema, "schema", true).is_empty());
    let Ok(parsed) = Schema::structural(&schema) else { return };
    let mut new = object.clone();
    apply_defaults(&mut new, parsed.root());
    prune_unknown(&mut new, parsed.root());
    let _ = validate_custom_resource(&new, None, parsed.root());
    let _ = validate_custom_resource(&new, Some(&object), parsed.root());
});

/// Prints regularly how many schemas are valid.
fn count(is_valid: bool) {
    static ALL: AtomicUsize = AtomicUsize::new(0);
    static VALID: AtomicUsize = AtomicUsize::new(0);
    let valid = VALID.fetch_add(usize::from(is_valid), Ordering::Relaxed);
    let all = ALL.fetch_add(1, Ordering::Relaxed);
    if all % 100_000 == 99_999 {
        eprintln!("{valid} of {all} schemas are valid");
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = mutate::Random::new(seed);
    let documents = serde_json::Deserializer::from_slice(&data[..size]).into_iter::<Value>();
    let mut documents: Vec<Value> = documents.map_while(Result::ok).collect();
    if documents.is_empty() || random.below(4) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let selected = random.below(documents.len());
    mutate::mutate(&mut documents[selected], &mut random);
    let text: String = documents.iter().map(Value::to_string).collect();
    if text.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..text.len()].copy_from_slice(text.as_bytes());
    text.len()
});
