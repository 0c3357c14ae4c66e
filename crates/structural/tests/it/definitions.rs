//! Compares the validation of schemas in `CustomResourceDefinitions` with recorded responses.

use outrigger_structural::schema::validate_definition;
use serde_json::{Value, json};

#[test]
fn schema_errors_match_the_recording() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/definitions.json");
    let cases: Vec<Value> = serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap();
    for case in &cases {
        let errors = validate_definition(
            &case["schema"],
            "spec.validation.openAPIV3Schema",
            case["status"] == true,
        );
        let ours = errors
            .iter()
            .map(|error| cause(error.type_.reason(), &error.field, &error.body()));
        let real = case["causes"].as_array().unwrap().iter().map(|real| {
            let text = |name: &str| real[name].as_str().unwrap();
            cause(text("reason"), text("field"), text("message"))
        });
        let (mut ours, mut real): (Vec<_>, Vec<_>) = (ours.collect(), real.collect());
        ours.sort();
        real.sort();
        assert_eq!(ours, real, "{}", case["name"]);
    }
}

/// Omits messages of parsers, which differ, and of whole Go structs, which are not shown.
fn cause(reason: &str, field: &str, message: &str) -> String {
    let is_foreign = field.ends_with(".pattern")
        || message.contains("compilation failed")
        || message.contains("fields are allowed at the root");
    if is_foreign {
        format!("{reason} {field}")
    } else {
        format!("{reason} {field} {message}")
    }
}

#[test]
fn a_regular_expression_over_the_limit_is_reported_as_such_at_its_field() {
    let check = |property: Value, expected: &str| {
        let schema = json!({"type": "object", "properties": {"p": property}});
        let errors = validate_definition(&schema, "schema", false);
        let [error] = errors.as_slice() else {
            panic!("{errors:?}");
        };
        assert_eq!(error.field, format!("schema.properties[p].{expected}"));
        let limit =
            "the compiled regular expression needs more than 8192 KiB, which is Outrigger's limit";
        assert!(error.body().contains(limit), "{}", error.body());
        assert!(!error.body().contains("valid regular expression"));
    };
    check(
        json!({"type": "string", "pattern": r"\p{L}{1000}"}),
        "pattern",
    );
    let rule = r"self.matches('\\p{L}{1000}')";
    let rules = json!([{"rule": rule}]);
    check(
        json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": rules}),
        "x-kubernetes-validations[0].rule",
    );
}
