//! Tests of comparisons by managed fields.

use serde_json::{Value, json};

use super::*;

fn live(spec: &Value, fields: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "resourceVersion": "7",
            "managedFields": [
                {"manager": "helm", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": fields},
                {"manager": "kube", "operation": "Update", "apiVersion": "apps/v1", "subresource": "status",
                 "fieldsV1": {"f:status": {"f:replicas": {}}}},
            ],
        },
        "spec": spec,
    })
}

fn desired(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
}

fn paths(changes: &[FieldChange]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

#[test]
fn an_unchanged_object_is_equal_despite_defaulted_fields() {
    let live = live(
        &json!({"replicas": 2, "strategy": {"type": "RollingUpdate"}, "template": {"spec": {"containers": [
            {"name": "web", "image": "a:1", "ports": [{"containerPort": 80, "protocol": "TCP"}], "pullPolicy": "x"},
            {"name": "injected", "image": "b"},
        ]}}}),
        &json!({"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {
            "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}, "f:ports": {
                "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
            }},
        }}}}}),
    );
    let desired = desired(&json!({"replicas": 2, "template": {"spec": {"containers": [
        {"name": "web", "image": "a:1", "ports": [{"containerPort": 80}]},
    ]}}}));
    let comparison = compare(&desired, &live, None);
    assert!(comparison.is_equal(), "{comparison:?}");
}

#[test]
fn unowned_changed_and_removed_fields_are_distinguished() {
    let live = live(
        &json!({"replicas": 2, "paused": true, "minReadySeconds": 3}),
        &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}),
    );
    let desired = desired(&json!({"replicas": 3, "minReadySeconds": 3, "revisionHistoryLimit": 1}));
    let comparison = compare(&desired, &live, None);
    assert_eq!(paths(&comparison.changed), [".spec.replicas"]);
    assert_eq!(
        paths(&comparison.unowned),
        [".spec.minReadySeconds", ".spec.revisionHistoryLimit"]
    );
    assert_eq!(paths(&comparison.removed), [".spec.paused"]);
    // A field that only changes its manager is not a change.
    let changes = comparison.changes();
    assert!(!paths(&changes).contains(&".spec.minReadySeconds"));
}

#[test]
fn an_item_that_is_no_longer_desired_is_removed() {
    let live = live(
        &json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        &json!({"f:spec": {"f:containers": {
            "k:{\"name\":\"a\"}": {".": {}, "f:name": {}}, "k:{\"name\":\"b\"}": {".": {}, "f:name": {}},
        }}}),
    );
    let comparison = compare(
        &desired(&json!({"containers": [{"name": "a"}]})),
        &live,
        None,
    );
    assert_eq!(paths(&comparison.removed), [".spec.containers[name=\"b\"]"]);
}

#[test]
fn an_atomic_list_is_compared_as_a_whole() {
    let fields = json!({"f:spec": {"f:args": {}}});
    let live = live(&json!({"args": ["a", "b"]}), &fields);
    assert!(compare(&desired(&json!({"args": ["a", "b"]})), &live, None).is_equal());
    assert!(!compare(&desired(&json!({"args": ["a"]})), &live, None).is_equal());
}

#[test]
fn an_object_without_our_managed_fields_is_compared_by_value() {
    let mut live = live(&json!({"replicas": 2, "paused": true}), &json!({}));
    live["metadata"]["managedFields"] = json!([]);
    let comparison = compare(&desired(&json!({"replicas": 3})), &live, None);
    assert_eq!(paths(&comparison.unowned), [".spec.replicas"]);
}

#[test]
fn string_data_of_a_secret_is_compared_as_data_and_masked() {
    let live = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "x", "managedFields": [{
            "manager": "helm", "operation": "Apply", "apiVersion": "v1",
            "fieldsV1": {"f:stringData": {"f:a": {}}, "f:data": {"f:b": {}}},
        }]},
        "data": {"a": "Zm9v", "b": "YmFy"},
    });
    let desired = |a: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"},
            "stringData": {"a": a}, "data": {"b": "YmFy"}})
    };
    assert!(compare(&desired("foo"), &live, None).is_equal());
    let mut changes = compare(&desired("other"), &live, None).changes();
    mask(&mut changes);
    assert_eq!(paths(&changes), [".data.a"]);
    assert_eq!(changes[0].after, Some(json!("***")));
}

#[test]
fn client_side_fields_of_helm_become_applied_fields() {
    let live = json!({"metadata": {"resourceVersion": "9", "managedFields": [
        {"manager": "helm", "operation": "Update", "apiVersion": "v1", "time": "t",
         "fieldsV1": {"f:data": {".": {}, "f:a": {}}}},
        {"manager": "helm", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:b": {}}}},
        {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsV1": {}},
    ]}});
    assert!(needs_upgrade(&live));
    let patch = upgrade_patch(&live);
    let entries = patch[0]["value"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["operation"], "Apply");
    assert_eq!(
        entries[0]["fieldsV1"],
        json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}})
    );
    assert_eq!(patch[1]["value"], "9");
}

#[test]
fn a_field_that_was_applied_as_desired_is_equal_despite_normalization() {
    let fields = json!({"f:spec": {"f:claims": {}, "f:env": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:from": {}}}}});
    let live = live(
        &json!({"claims": [{"name": "x", "phase": "added"}], "env": [{"name": "a", "from": {"path": "p", "version": "added"}}]}),
        &fields,
    );
    let same =
        desired(&json!({"claims": [{"name": "x"}], "env": [{"name": "a", "from": {"path": "p"}}]}));
    assert!(compare(&same, &live, Some(&same)).is_equal());
    assert_eq!(compare(&same, &live, None).changed.len(), 2);
    let other =
        desired(&json!({"claims": [{"name": "y"}], "env": [{"name": "a", "from": {"path": "p"}}]}));
    let comparison = compare(&other, &live, Some(&same));
    assert_eq!(paths(&comparison.changed), [".spec.claims"]);
}

#[test]
fn empty_desired_values_may_be_absent() {
    let live = live(&json!({"a": 1}), &json!({"f:spec": {"f:a": {}}}));
    let desired =
        desired(&json!({"a": 1, "mounts": [], "affinity": {"node": null, "pod": {}}, "text": ""}));
    assert!(compare(&desired, &live, None).is_equal());
}
