//! Compares conversions with both versions of objects of a real server.

use serde_json::Value;

use super::*;
use crate::kinds::Registry;

const PAIRS: &str = include_str!("../../../tests/data/conversions.jsonl");

/// Parses the annotations that carry converted fields.
fn with_parsed_annotations(mut object: Value) -> Value {
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        for (_, value) in annotations.iter_mut() {
            let text = value.as_str().unwrap_or_default();
            if let Ok(parsed) = serde_json::from_str(text) {
                *value = parsed;
            }
        }
    }
    object
}

#[test]
fn conversions_match_the_real_server() {
    let kinds = Registry::default().snapshot();
    for line in PAIRS.lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        let group = pair["group"].as_str().unwrap();
        let kind = kinds
            .kind(group, "v1", pair["kind"].as_str().unwrap())
            .unwrap();
        let mut served = pair["stored"].clone();
        from_storage(kind, &mut served);
        assert_eq!(
            with_parsed_annotations(served.clone()),
            with_parsed_annotations(pair["v1"].clone())
        );
        to_storage(kind, &mut served);
        assert_eq!(served, pair["stored"]);
    }
}

#[test]
fn other_kinds_are_not_converted() {
    let kinds = Registry::default().snapshot();
    let kind = kinds.kind("", "v1", "Pod").unwrap();
    let mut object = serde_json::json!({"apiVersion": "whatever", "spec": 1});
    let before = object.clone();
    to_storage(kind, &mut object);
    from_storage(kind, &mut object);
    assert_eq!(object, before);
}
