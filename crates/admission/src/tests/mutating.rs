//! Mutating admission policies.

use serde_json::json;

use super::*;

/// A policy for Pods with a binding.
fn policy(name: &str, spec: Value) -> BoundPolicy<MutatingPolicy> {
    let mut policy = json!({
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"],
            }]},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    BoundPolicy {
        policy: MutatingPolicy::compile(&policy).into(),
        bindings: vec![json!({"metadata": {"name": "b"}, "spec": {"policyName": name}})],
    }
}

fn apply(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn json_patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

fn mutated(mutating: Vec<BoundPolicy<MutatingPolicy>>) -> Result<Value, String> {
    let cluster = Cluster {
        mutating,
        ..Cluster::default()
    };
    let mut pod = pod(json!({}));
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["labels"] = json!({"a": "b"});
    admit(&pod, &cluster)
}

#[test]
fn apply_configurations_are_merged() {
    let expression = r#"Object{
        metadata: Object.metadata{labels: {"c": object.metadata.labels.a}},
        spec: Object.spec{
            hostname: "h",
            ?subdomain: optional.none(),
            containers: [Object.spec.containers{name: "c", tty: true}, Object.spec.containers{name: "d"}]
        }
    }"#;
    let pod = mutated(vec![policy("p", json!({"mutations": [apply(expression)]}))]).unwrap();
    assert_eq!(pod["metadata"]["labels"], json!({"a": "b", "c": "b"}));
    assert_eq!(pod["spec"]["hostname"], "h");
    let containers = pod["spec"]["containers"].as_array().unwrap();
    assert_eq!(
        (&containers[0]["name"], &containers[0]["tty"]),
        (&json!("c"), &json!(true))
    );
    // Defaults are set again.
    assert_eq!(
        containers[1]["terminationMessagePath"],
        "/dev/termination-log"
    );
}

#[test]
fn json_patches_are_applied_unless_a_test_fails() {
    let escaped = json_patch(
        r#"[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("x/y~z"), value: "1"}]"#,
    );
    let failing = json_patch(
        r#"[JSONPatch{op: "test", path: "/metadata/labels/a", value: "x"}, JSONPatch{op: "remove", path: "/metadata/labels"}]"#,
    );
    let object = json_patch(
        r#"[JSONPatch{op: "add", path: "/spec/dnsConfig", value: Object.spec.dnsConfig{nameservers: ["1.1.1.1"]}}]"#,
    );
    let mutations = json!({"mutations": [escaped, failing, object]});
    let pod = mutated(vec![policy("p", mutations)]).unwrap();
    assert_eq!(pod["metadata"]["labels"], json!({"a": "b", "x/y~z": "1"}));
    assert_eq!(pod["spec"]["dnsConfig"]["nameservers"], json!(["1.1.1.1"]));
}

#[test]
fn a_policy_that_fails_denies_the_request_unless_failures_are_ignored() {
    let check = |mutation: Value, why: &str| {
        let spec = json!({"mutations": [mutation]});
        let denied = mutated(vec![policy("p", spec.clone())]).unwrap_err();
        let prefix = "policy 'p' with binding 'b' denied request: ";
        assert_eq!(denied, format!("{prefix}{why}"));
        let mut ignored = spec;
        ignored["failurePolicy"] = json!("Ignore");
        mutated(vec![policy("p", ignored)]).unwrap();
    };
    check(
        apply("Object{spec: Object.spec{hostname: object.metadata.labels.none}}"),
        "expression 'Object{spec: Object.spec{hostname: object.metadata.labels.none}}' resulted in error: no such key: none",
    );
    check(
        apply("Object{spec: Object.wrong{hostname: 'h'}}"),
        "type mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\", which matches field name path from root Object type",
    );
    check(
        apply(
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['a']}]}}",
        ),
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args",
    );
    check(
        json_patch("[JSONPatch{op: 'remove', path: '/spec/none'}]"),
        "JSON Patch: error in remove for path: '/spec/none': Unable to remove nonexistent key: none: missing value",
    );
}

#[test]
fn policies_are_skipped_if_a_condition_does_not_match() {
    let spec = |condition: &str| {
        json!({
            "matchConditions": [{"name": "c", "expression": condition}],
            "variables": [{"name": "v", "expression": "'h' + object.metadata.labels.a"}],
            "mutations": [apply("Object{spec: Object.spec{hostname: variables.v}}")],
        })
    };
    let pod = mutated(vec![policy("p", spec("has(object.metadata.labels)"))]).unwrap();
    assert_eq!(pod["spec"]["hostname"], "hb");
    let pod = mutated(vec![policy("p", spec("object.metadata.name == ''"))]).unwrap();
    assert!(pod["spec"]["hostname"].is_null());
}

#[test]
fn policies_are_reinvoked_if_they_ask_for_it() {
    let counting = |name: &str, reinvocation: &str| {
        let expression = format!(
            "Object{{metadata: Object.metadata{{annotations: {{'{name}': string(int(object.metadata.?annotations['{name}'].orValue('0')) + 1)}}}}}}"
        );
        let spec = json!({"reinvocationPolicy": reinvocation, "mutations": [apply(&expression)]});
        policy(name, spec)
    };
    let pod = mutated(vec![
        counting("again", "IfNeeded"),
        counting("once", "Never"),
    ])
    .unwrap();
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(*annotations, json!({"again": "2", "once": "1"}));
}

#[test]
fn deeply_nested_variables_are_rejected() {
    let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(100), "]".repeat(100));
    let mut variables = vec![json!({"name": "v0", "expression": "[1]"})];
    for i in 1..120 {
        let expression = nested(&format!("dyn(variables.v{})", i - 1));
        variables.push(json!({"name": format!("v{i}"), "expression": expression}));
    }
    let mutation = json_patch("[JSONPatch{op: 'add', path: '/spec/x', value: variables.v119}]");
    let spec = json!({"variables": variables, "mutations": [mutation]});
    let denied = mutated(vec![policy("p", spec)]).unwrap_err();
    assert!(denied.contains("values are too large"), "{denied}");
}
