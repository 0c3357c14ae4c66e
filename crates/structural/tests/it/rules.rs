//! Compares CEL validation rules with recorded evaluations.

use outrigger_structural::schema::{Schema, validate_custom_resource};
use serde_json::{Value, json};

#[test]
fn evaluations_match_the_recording() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rules.json");
    let cases: Vec<Value> = serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap();
    let mut differences = Vec::new();
    for case in &cases {
        let schema = json!({"type": "object", "properties": {"p": case["schema"]}});
        let schema = Schema::structural(&schema).unwrap();
        let errors = validate_custom_resource(&json!({"p": case["value"]}), None, schema.root());
        let ours: Vec<String> = errors
            .iter()
            .map(outrigger_apimachinery::status::field::Error::body)
            .collect();
        let rule = &case["schema"]["x-kubernetes-validations"][0]["rule"];
        if json!(ours) != case["messages"] {
            differences.push(format!(
                "{rule} of {}: ours {ours:?}, real {}",
                case["value"], case["messages"]
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
