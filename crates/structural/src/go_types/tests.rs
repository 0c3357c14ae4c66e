//! The round trip of built-in objects, against Go's results.

use serde_json::json;

use super::*;

fn id(api_version: &str, kind: &str) -> StructId {
    of_kind(GroupVersion::parse(api_version), kind).unwrap()
}

#[track_caller]
fn check_error(api_version: &str, kind: &str, value: &Value, expected: &str) {
    let error = decode(id(api_version, kind), &mut value.clone()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn rejects_values_of_the_wrong_type_in_the_words_of_go() {
    let container =
        |fields: Value| json!({"spec": {"template": {"spec": {"containers": [fields]}}}});
    let begin = "json: cannot unmarshal";
    let cases = [
        (json!([]), format!("{begin} array into Go value of type v1.Deployment")),
        (json!({"spec": {"replicas": "x"}}), format!("{begin} string into Go struct field DeploymentSpec.spec.replicas of type int32")),
        (json!({"spec": {"replicas": 1.5}}), format!("{begin} number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32")),
        (json!({"spec": "x"}), format!("{begin} string into Go struct field Deployment.spec of type v1.DeploymentSpec")),
        (json!({"metadata": {"labels": {"a": 1}}}), format!("{begin} number into Go struct field ObjectMeta.metadata.labels of type string")),
        (json!({"metadata": {"labels": []}}), format!("{begin} array into Go struct field ObjectMeta.metadata.labels of type map[string]string")),
        (container(json!({"env": {}})), format!("{begin} object into Go struct field Container.spec.template.spec.containers.env of type []v1.EnvVar")),
        (container(json!({"command": [1]})), format!("{begin} number into Go struct field Container.spec.template.spec.containers.command of type string")),
        (container(json!({"resources": {"limits": {"cpu": "abc"}}})), "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()),
    ];
    for (value, expected) in cases {
        check_error("apps/v1", "Deployment", &value, &expected);
    }
    check_error(
        "v1",
        "ConfigMap",
        &json!({"binaryData": {"a": "!!"}}),
        "illegal base64 data at input byte 0",
    );
    let time = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
    check_error(
        "v1",
        "ConfigMap",
        &json!({"metadata": {"creationTimestamp": "x"}}),
        time,
    );
}

#[test]
fn returns_the_paths_of_unknown_fields() {
    let mut pod = json!({"x": 1, "spec": {"containers": [{"name": "c", "y": 1}]}});
    let unknown = decode(id("v1", "Pod"), &mut pod).unwrap();
    assert_eq!(unknown, ["spec.containers[0].y", "x"]);
    assert_eq!(pod, json!({"spec": {"containers": [{"name": "c"}]}}));
}

#[test]
fn the_zero_value_has_the_fields_without_omitempty() {
    let expected = json!({
        "metadata": {},
        "spec": {
            "selector": null,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": null}},
        },
        "status": {},
    });
    assert_eq!(zero_value(id("apps/v1", "Deployment")), expected);
}

#[test]
fn normalizing_drops_empty_fields_and_adds_those_without_omitempty() {
    let mut pod = json!({
        "metadata": {"name": "p", "labels": {}, "foo": 1},
        "spec": {
            "hostNetwork": false,
            "automountServiceAccountToken": false,
            "nodeName": "",
            "containers": [{"name": "c", "image": "i", "command": [], "ports": "x"}],
        },
    });
    normalize(id("v1", "Pod"), &mut pod);
    let expected = json!({
        "metadata": {"name": "p"},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "i", "ports": "x", "resources": {}}],
        },
        "status": {},
    });
    assert_eq!(pod, expected);
}

#[test]
fn finds_structs_by_kind_and_by_definition() {
    let pod = of_definition("io.k8s.api.core.v1.Pod").unwrap();
    assert_eq!(pod.get().name, "core/v1.Pod");
    assert_eq!(pod, id("v1", "Pod"));
    let role = of_definition("io.k8s.api.rbac.v1.Role").unwrap();
    assert_eq!(role, id("rbac.authorization.k8s.io/v1", "Role"));
    let autoscaler = id("autoscaling/v2", "HorizontalPodAutoscaler");
    assert_eq!(
        autoscaler.get().name,
        "autoscaling/v2.HorizontalPodAutoscaler"
    );
    assert_eq!(object_meta().unwrap().get().name, "meta/v1.ObjectMeta");
}
