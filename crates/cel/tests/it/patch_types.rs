//! The objects that expressions of mutating admission policies create.

use outrigger_cel::{Activation, Env, Limits, Type};
use serde_json::json;

fn env() -> Env {
    Env::new().variable("self", Type::Dyn).patch_types()
}

fn evaluate(expression: &str) -> Result<(serde_json::Value, u64), String> {
    let compiled = env().compile(expression).map_err(|e| e.to_string())?;
    let program = compiled.program().map_err(|e| e.to_string())?;
    let evaluation = program.evaluate(&Activation::new(), Limits::PER_CALL);
    let value = evaluation.result.map_err(|e| e.to_string())?;
    Ok((value.to_json().map_err(|e| e.to_string())?, evaluation.cost))
}

#[test]
fn objects_have_any_fields() {
    let (value, cost) =
        evaluate("Object{spec: Object.spec{a: 1, ?b: optional.none(), c: ['x']}}").unwrap();
    assert_eq!(value, json!({"spec": {"a": 1, "c": ["x"]}}));
    // Two objects and an optional; the list is a literal.
    assert_eq!(cost, 81);
    assert_eq!(evaluate("Object{a: 1}.a + 1").unwrap().0, 2);
    assert_eq!(evaluate("has(Object{a: 1}.b)").unwrap().0, false);
    assert_eq!(evaluate("Object{a: 1} == Object{a: 1}").unwrap().0, true);
    assert_eq!(evaluate("type(Object.x{}) == Object.x").unwrap().0, true);
    let zero = "Object{?spec: optional.ofNonZeroValue(Object.spec{?replicas: Object{}.?replicas})}";
    assert_eq!(evaluate(zero).unwrap().0, json!({}));
}

#[test]
fn operations_are_checked() {
    let escaped = "JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('k8s.io/my~label'), value: {'x': 1}}";
    let operation = json!({"op": "add", "path": "/a/k8s.io~1my~0label", "value": {"x": 1}});
    assert_eq!(evaluate(escaped).unwrap().0, operation);
    let check = |expression: &str, why: &str| {
        let issues = evaluate(expression).unwrap_err();
        assert!(issues.contains(why), "{issues}");
    };
    check(
        "JSONPatch{op: 1, path: '/'}",
        "expected type of field 'op' is 'string' but provided type is 'int'",
    );
    check("JSONPatch{oops: 1}", "undefined field 'oops'");
    check(
        "Other{a: 1}",
        "undeclared reference to 'Other' (in container '')",
    );
}

#[test]
fn other_expressions_cannot_create_objects() {
    for expression in ["Object{a: 1}", "JSONPatch{}", "jsonpatch.escapeKey('a')"] {
        let issues = Env::new().compile(expression).unwrap_err().to_string();
        assert!(issues.contains("undeclared reference"), "{issues}");
    }
}

#[test]
fn values_that_are_too_large_or_too_deep_are_not_converted() {
    let mut deep = "1".to_owned();
    let mut large = "['0123456789']".to_owned();
    for _ in 0..110 {
        deep = format!("Object{{a: {deep}}}");
    }
    for _ in 0..20 {
        large = format!("[1, 2].map(x, {large})");
    }
    for expression in [deep, large] {
        let why = evaluate(&expression).unwrap_err();
        assert!(why.contains("limit") || why.contains("too large"), "{why}");
    }
}
