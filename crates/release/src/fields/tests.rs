//! Tests of what is ours and what differs.

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

fn wanted(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
}

fn paths(changes: &[FieldChange]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

#[test]
fn what_we_applied_and_nobody_touched_is_equal_whatever_defaults_were_added() {
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
    let wanted = wanted(&json!({"replicas": 2, "template": {"spec": {"containers": [
        {"name": "web", "image": "a:1", "ports": [{"containerPort": 80}]},
    ]}}}));
    let comparison = compare(&wanted, &live, None);
    assert!(comparison.is_equal(), "{comparison:?}");
}

#[test]
fn changed_added_and_removed_fields_are_told_apart() {
    let live = live(
        &json!({"replicas": 2, "paused": true, "minReadySeconds": 3}),
        &json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}),
    );
    let wanted = wanted(&json!({"replicas": 3, "minReadySeconds": 3, "revisionHistoryLimit": 1}));
    let comparison = compare(&wanted, &live, None);
    assert_eq!(paths(&comparison.differing), [".spec.replicas"]);
    assert_eq!(
        paths(&comparison.not_ours),
        [".spec.minReadySeconds", ".spec.revisionHistoryLimit"]
    );
    assert_eq!(paths(&comparison.left_over), [".spec.paused"]);
    // A field that only changes hands changes nothing.
    let changes = comparison.changes();
    assert!(!paths(&changes).contains(&".spec.minReadySeconds"));
}

#[test]
fn an_item_that_is_no_longer_wanted_is_left_over() {
    let live = live(
        &json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        &json!({"f:spec": {"f:containers": {
            "k:{\"name\":\"a\"}": {".": {}, "f:name": {}}, "k:{\"name\":\"b\"}": {".": {}, "f:name": {}},
        }}}),
    );
    let comparison = compare(
        &wanted(&json!({"containers": [{"name": "a"}]})),
        &live,
        None,
    );
    assert_eq!(
        paths(&comparison.left_over),
        [".spec.containers[name=\"b\"]"]
    );
}

#[test]
fn an_atomic_list_must_be_the_very_same() {
    let fields = json!({"f:spec": {"f:args": {}}});
    let live = live(&json!({"args": ["a", "b"]}), &fields);
    assert!(compare(&wanted(&json!({"args": ["a", "b"]})), &live, None).is_equal());
    assert!(!compare(&wanted(&json!({"args": ["a"]})), &live, None).is_equal());
}

#[test]
fn an_object_of_another_manager_is_compared_field_by_field() {
    let mut live = live(&json!({"replicas": 2, "paused": true}), &json!({}));
    live["metadata"]["managedFields"] = json!([]);
    let comparison = compare(&wanted(&json!({"replicas": 3})), &live, None);
    assert_eq!(paths(&comparison.not_ours), [".spec.replicas"]);
}

#[test]
fn texts_of_a_secret_are_its_data_and_are_masked() {
    let live = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "x", "managedFields": [{
            "manager": "helm", "operation": "Apply", "apiVersion": "v1",
            "fieldsV1": {"f:stringData": {"f:a": {}}, "f:data": {"f:b": {}}},
        }]},
        "data": {"a": "Zm9v", "b": "YmFy"},
    });
    let wanted = |a: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"},
            "stringData": {"a": a}, "data": {"b": "YmFy"}})
    };
    assert!(compare(&wanted("foo"), &live, None).is_equal());
    let mut changes = compare(&wanted("other"), &live, None).changes();
    mask(&mut changes);
    assert_eq!(paths(&changes), [".data.a"]);
    assert_eq!(changes[0].after, Some(json!("***")));
}

#[test]
fn fields_that_helm_wrote_from_the_clients_side_become_applied_ones() {
    let live = json!({"metadata": {"resourceVersion": "9", "managedFields": [
        {"manager": "helm", "operation": "Update", "apiVersion": "v1", "time": "t",
         "fieldsV1": {"f:data": {".": {}, "f:a": {}}}},
        {"manager": "helm", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:b": {}}}},
        {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsV1": {}},
    ]}});
    assert!(needs_migration(&live));
    let patch = migration(&live);
    let managers = patch[0]["value"].as_array().unwrap();
    assert_eq!(managers.len(), 2);
    assert_eq!(managers[0]["operation"], "Apply");
    assert_eq!(
        managers[0]["fieldsV1"],
        json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}})
    );
    assert_eq!(patch[1]["value"], "9");
}

#[test]
fn what_we_last_applied_as_it_is_wanted_is_not_a_change_however_the_server_wrote_it_down() {
    let fields = json!({"f:spec": {"f:claims": {}, "f:env": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:from": {}}}}});
    let live = live(
        &json!({"claims": [{"name": "x", "phase": "added"}], "env": [{"name": "a", "from": {"path": "p", "version": "added"}}]}),
        &fields,
    );
    let same =
        wanted(&json!({"claims": [{"name": "x"}], "env": [{"name": "a", "from": {"path": "p"}}]}));
    assert!(compare(&same, &live, Some(&same)).is_equal());
    assert_eq!(compare(&same, &live, None).differing.len(), 2);
    let other =
        wanted(&json!({"claims": [{"name": "y"}], "env": [{"name": "a", "from": {"path": "p"}}]}));
    let comparison = compare(&other, &live, Some(&same));
    assert_eq!(paths(&comparison.differing), [".spec.claims"]);
}

#[test]
fn what_says_nothing_is_not_missed() {
    let live = live(&json!({"a": 1}), &json!({"f:spec": {"f:a": {}}}));
    let wanted =
        wanted(&json!({"a": 1, "mounts": [], "affinity": {"node": null, "pod": {}}, "text": ""}));
    assert!(compare(&wanted, &live, None).is_equal());
}
