//! Warnings in the words of kube-apiserver.

use serde_json::json;

use super::*;
use crate::kinds::Registry;

#[track_caller]
fn check((group, kind): (&str, &str), new: &Value, expected: &[&str]) {
    let kinds = Registry::default().snapshot();
    let kind = kinds.kind(group, "v1", kind).unwrap();
    assert_eq!(of_write(kind, new, None), expected);
    assert!(of_write(kind, new, Some(new)).is_empty());
}

#[test]
fn formats_that_nothing_validates() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "format": "int64"},
        "b": {"type": "integer", "format": "int64"},
        "c": {"type": "array", "items": {"type": "string", "format": "date-time"}},
    }});
    check(
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        &json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}),
        &["unrecognized format \"int64\""],
    );
}

#[test]
fn names_and_ports_that_hide_others() {
    let template = json!({"spec": {"containers": [
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"}],
         "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}]},
        {"ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}]},
    ]}});
    check(
        ("apps", "Deployment"),
        &json!({"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": template}}),
        &[
            "spec.template.spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using apply",
            "spec.template.spec.containers[1].ports[0]: duplicate port definition with spec.template.spec.containers[0].ports[0]",
            "spec.template.spec.containers[1].ports[0]: duplicate port name \"http\" with spec.template.spec.containers[0].ports[0], services and probes that select ports by name will use spec.template.spec.containers[0].ports[0]",
        ],
    );
}

#[test]
fn finalizers_without_a_domain_are_kept_with_a_warning() {
    let object =
        json!({"metadata": {"finalizers": ["orphan", "a.example.com", "b", "example.com/c"]}});
    let warning = "to avoid accidental conflicts with other finalizer writers";
    assert_eq!(
        finalizers(&object, None),
        [
            format!(
                "metadata.finalizers: \"a.example.com\": prefer a domain-qualified finalizer name including a path (/) {warning}"
            ),
            format!(
                "metadata.finalizers: \"b\": prefer a domain-qualified finalizer name {warning}"
            ),
        ]
    );
    assert!(finalizers(&object, Some(&object)).is_empty());
}

#[test]
fn objects_without_effect_are_kept_with_a_warning() {
    let kinds = Registry::default().snapshot();
    let kind = kinds.kind("", "v1", "Namespace").unwrap();
    let namespace = |level: &str| {
        let labels = json!({"pod-security.kubernetes.io/enforce": level});
        json!({"metadata": {"labels": labels}})
    };
    let warning = "this server has no pod security levels: it only keeps the object";
    assert_eq!(of_write(kind, &namespace("restricted"), None), [warning]);
    assert!(of_write(kind, &namespace("privileged"), None).is_empty());
    let old = namespace("baseline");
    assert!(of_write(kind, &old, Some(&old)).is_empty());
}
