//! Compares CEL validation rules with recorded evaluations.

use outrigger_structural::schema::{Schema, validate_custom_resource, validate_definition};
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

/// The errors of a definition with a rule for a list of integers.
fn definition_errors(rule: &str, max_items: Option<u64>) -> Vec<String> {
    let mut list = json!({"type": "array", "items": {"type": "integer"}});
    if let Some(max) = max_items {
        list["maxItems"] = json!(max);
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"l": list, "name": {"type": "string", "maxLength": 10}},
                "x-kubernetes-validations": [{"rule": rule, "message": "no"}],
            },
        },
    });
    let errors = validate_definition(&schema, "schema", false);
    errors.iter().map(ToString::to_string).collect()
}

fn nested(levels: usize) -> String {
    (0..levels).fold("true".to_owned(), |inner, i| {
        format!("self.l.all(v{i}, {inner})")
    })
}

#[test]
fn a_definition_whose_rule_is_too_expensive_is_rejected() {
    let errors = definition_errors(&nested(8), Some(100));
    let rule = "schema.properties[spec].x-kubernetes-validations[0].rule";
    let hint = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
    assert_eq!(
        errors,
        [
            format!(
                "{rule}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {hint}"
            ),
            format!(
                "{rule}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            ),
            format!(
                "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x {hint}"
            ),
        ]
    );
    assert_eq!(definition_errors(&nested(2), Some(100)), [""; 0]);
    assert_eq!(definition_errors(&nested(2), None).len(), 3);
}

#[test]
fn a_definition_whose_rule_does_not_compile_is_rejected() {
    let cases = [
        ("Foo{a:1}.a == 1", "undeclared reference to 'Foo'"),
        (
            "'%.9999999999999999999f'.format([1.0]) == ''",
            "value out of range",
        ),
        ("self.unknown == 1", "undefined field 'unknown'"),
        (
            "self.name == 1",
            "found no matching overload for '_==_' applied to '(string, int)'",
        ),
        ("self.name", "cel expression must evaluate to a bool"),
        ("frob(self)", "undeclared reference to 'frob'"),
        ("self.name ==", "Syntax error: mismatched input '<EOF>'"),
        (
            "int('x') == 1",
            "program instantiation failed: type conversion error from 'string' to 'int'",
        ),
    ];
    for (rule, message) in cases {
        let errors = definition_errors(rule, Some(1));
        assert!(
            errors.len() == 1 && errors[0].contains(message),
            "{rule}: {errors:?}"
        );
    }
    let deep = format!("// '\nself{} == 1", ".a".repeat(3900));
    let errors = definition_errors(&deep, Some(1));
    assert!(
        errors[0].contains("max recursion depth exceeded"),
        "{errors:?}"
    );
}

#[test]
fn evaluation_ends_when_the_budget_is_exhausted() {
    let schema = |rules: Vec<Value>| {
        let list = json!({"type": "array", "items": {"type": "integer"}});
        let schema = json!({
            "type": "object",
            "properties": {"l": list},
            "x-kubernetes-validations": rules,
        });
        Schema::structural(&schema).unwrap()
    };
    let object = json!({"l": (0..100).collect::<Vec<_>>()});
    let errors = |rules: Vec<Value>| -> Vec<String> {
        let errors = validate_custom_resource(&object, None, schema(rules).root());
        errors.iter().map(ToString::to_string).collect()
    };
    let call = errors(vec![
        json!({"rule": nested(8), "message": "no"}),
        json!({"rule": "false"}),
    ]);
    assert_eq!(
        call,
        [
            "<nil>: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: no"
        ]
    );
    // Each rule costs less than a call may cost, all together more than the budget of the object.
    let many = errors(vec![json!({"rule": nested(2)}); 500]);
    assert_eq!(
        many,
        [
            "<nil>: Invalid value: \"object\": validation failed due to running out of cost budget, no further validation rules will be run"
        ]
    );
}
