//! No request makes the server panic.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_apimachinery::GroupVersion;
use outrigger_structural::go_types;
use outrigger_structural::merge::{FieldManager, Kind, Writer, reset_fields};
use outrigger_structural::patch::{self, Decoding};
use outrigger_structural::schema::{self, Schema, builtin, strict};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Field names with a meaning.
fn name() -> impl Strategy<Value = String> {
    let known = [
        "spec",
        "metadata",
        "status",
        "data",
        "labels",
        "managedFields",
        "containers",
        "template",
        "name",
        "ports",
        "type",
        "properties",
        "items",
        "default",
        "$patch",
        "$setElementOrder/containers",
        "$retainKeys",
        "$deleteFromPrimitiveList/finalizers",
        "x-kubernetes-list-type",
        "x-kubernetes-validations",
        "rule",
        "allOf",
        "additionalProperties",
        "finalizers",
        "op",
        "path",
        "value",
        "from",
        "fieldsV1",
        "manager",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,3}"]
}

fn scalar() -> impl Strategy<Value = Value> {
    let words = [
        "replace",
        "delete",
        "add",
        "remove",
        "/spec/name",
        "map",
        "set",
        "object",
        "array",
        "self == 1",
        "1Gi",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn deployment(mut object: Value) -> Value {
    if !object.is_object() {
        object = json!({"spec": object});
    }
    object["apiVersion"] = json!("apps/v1");
    object["kind"] = json!("Deployment");
    object
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn writes_never_panic(live in value(), new in value()) {
        let schema = builtin::schema("apps/v1", "Deployment").unwrap();
        let kind = Arc::new(Kind {
            api_version: "apps/v1".to_owned(),
            name: "Deployment".to_owned(),
            schemas: BTreeMap::from([("apps/v1".to_owned(), schema.clone())]),
        });
        let manager = FieldManager::new(kind, "", reset_fields::of_built_in("Deployment", ""));
        let (live, mut new) = (deployment(live), deployment(new));
        let writer = Writer { manager: "kubectl", now: "2026-01-01T00:00:00Z" };
        let _ = manager.apply(Some(&live), &new, writer, true);
        let _ = manager.apply(None, &new, writer, false);
        let _ = manager.update(Some(&live), new.clone(), writer);
        let id = go_types::of_kind(GroupVersion::parse("apps/v1"), "Deployment").unwrap();
        let _ = go_types::decode(id, &mut new.clone());
        go_types::normalize(id, &mut new);
    }

    #[test]
    fn patches_never_panic(object in value(), patch in value(), text in ".{0,20}") {
        let schema = builtin::schema("apps/v1", "Deployment").unwrap().root();
        for bytes in [patch.to_string(), json!([patch]).to_string(), text] {
            let bytes = bytes.as_bytes();
            let _ = patch::json_patch(object.clone(), bytes, Decoding::Strict);
            let _ = patch::merge_patch(object.clone(), bytes, Decoding::Lenient);
            let _ = patch::strategic_merge_patch(deployment(object.clone()), bytes, schema, Decoding::Strict);
            let _ = strict::parse_typed(bytes, schema);
        }
    }

    #[test]
    fn schemas_never_panic(definition in value(), object in value(), old in value()) {
        let _ = schema::validate_definition(&definition, "spec", true);
        let Ok(parsed) = Schema::structural(&definition) else {
            return Ok(());
        };
        let mut object = object;
        let _ = schema::coerce(&mut object, parsed.root());
        schema::apply_defaults(&mut object, parsed.root());
        let _ = schema::validate_custom_resource(&object, Some(&old), parsed.root());
        let _ = schema::validate_custom_resource_status(&object, None, parsed.root());
    }
}
