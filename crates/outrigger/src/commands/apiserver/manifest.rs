//! Turns stored objects into manifests that `kubectl apply --server-side` accepts on another server.

use std::cmp::Ordering;

use serde_json::Value;

/// Metadata that a server assigns.
const ASSIGNED: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Labels of the pods of a Job that name its UID.
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];

/// The manifest of an object; none for one that a server or a controller creates itself.
pub(super) fn manifest(mut object: Value) -> Option<Value> {
    if is_created_by_servers(&object) || is_controlled(&object) {
        return None;
    }
    let metadata = object["metadata"].as_object_mut()?;
    if metadata.contains_key("deletionTimestamp") {
        return None;
    }
    metadata.retain(|key, _| !ASSIGNED.contains(&key.as_str()));
    remove(&mut object, &["status"]);
    match object["kind"].as_str().unwrap_or_default() {
        "Job" => forget_generated_selector(&mut object),
        "Namespace" => remove(&mut object, &["spec"]),
        "PersistentVolume" => {
            if let Some(claim) = object.pointer_mut("/spec/claimRef") {
                remove(claim, &["uid", "resourceVersion"]);
            }
        }
        "Secret" if object["type"] == "kubernetes.io/service-account-token" => {
            // The other server issues its own.
            remove(&mut object, &["data"]);
            if let Some(annotations) = object.pointer_mut("/metadata/annotations") {
                remove(annotations, &["kubernetes.io/service-account.uid"]);
            }
        }
        "Service" if object["spec"]["clusterIP"] != "None" => {
            if let Some(spec) = object.pointer_mut("/spec") {
                remove(spec, &["clusterIP", "clusterIPs"]);
            }
        }
        _ => {}
    }
    Some(object)
}

/// The order in which objects can be created: namespaces and definitions before what needs them.
pub(super) fn creation_order(a: &Value, b: &Value) -> Ordering {
    let rank = |object: &Value| match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("CustomResourceDefinition") => 1,
        Some("PriorityClass" | "StorageClass" | "ServiceAccount") => 2,
        _ => 3,
    };
    rank(a).cmp(&rank(b))
}

/// Whether each server has the object, or creates it with a namespace or while it runs.
fn is_created_by_servers(object: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let (name, namespace) = (text(&metadata["name"]), text(&metadata["namespace"]));
    let (labels, annotations) = (&metadata["labels"], &metadata["annotations"]);
    match object["kind"].as_str().unwrap_or_default() {
        "Namespace" => name == "default" || name.starts_with("kube-"),
        "ConfigMap" => name == "kube-root-ca.crt",
        "ServiceAccount" => name == "default" && is_bare_account(object),
        "Service" => name == "kubernetes" && namespace == "default",
        "Endpoints" => {
            name == "kubernetes" && namespace == "default"
                || labels["endpoints.kubernetes.io/managed-by"].is_string()
        }
        "EndpointSlice" => {
            name == "kubernetes" && namespace == "default"
                || labels["endpointslice.kubernetes.io/managed-by"].is_string()
        }
        "Event" | "Lease" | "IPAddress" => true,
        "ServiceCIDR" => name == "kubernetes",
        "PriorityClass" => name.starts_with("system-"),
        "APIService" => labels["kube-aggregator.kubernetes.io/automanaged"].is_string(),
        "FlowSchema" | "PriorityLevelConfiguration" => {
            annotations["apf.kubernetes.io/autoupdate-spec"] == "true"
        }
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => {
            labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
        }
        "Node" => labels["outrigger.dev/simulated"] == "true",
        _ => false,
    }
}

/// Whether an account has nothing that somebody has set.
fn is_bare_account(account: &Value) -> bool {
    let metadata = &account["metadata"];
    let mut fields = [
        "imagePullSecrets",
        "secrets",
        "automountServiceAccountToken",
    ]
    .iter();
    fields.all(|field| account[*field].is_null())
        && metadata["labels"].is_null()
        && metadata["annotations"].is_null()
}

/// Whether a controller creates the object: a `ReplicaSet` of a Deployment, a Pod of a Job.
fn is_controlled(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true))
}

/// The server generates the selector of a Job from its UID.
fn forget_generated_selector(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    for (path, keys) in [
        ("/spec", &["selector"][..]),
        ("/spec/template/metadata/labels", &UID_LABELS),
        ("/metadata/labels", &UID_LABELS),
    ] {
        job.pointer_mut(path)
            .into_iter()
            .for_each(|object| remove(object, keys));
    }
}

fn remove(object: &mut Value, keys: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_has_only_what_a_user_specifies() {
        let object = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 1,
                "creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": [], "labels": {"a": "b"},
                "ownerReferences": [{"name": "o", "uid": "u"}],
            },
            "spec": {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"], "ports": [{"port": 80}]},
            "status": {"loadBalancer": {}},
        });
        let expected = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}},
            "spec": {"ports": [{"port": 80}]},
        });
        assert_eq!(manifest(object), Some(expected));
    }

    #[test]
    fn a_manifest_of_a_job_has_no_uid() {
        let labels =
            json!({"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u", "a": "b"});
        let object = json!({
            "kind": "Job", "metadata": {"name": "once", "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}},
        });
        let labels = json!({"a": "b"});
        let expected = json!({
            "kind": "Job", "metadata": {"name": "once", "labels": labels},
            "spec": {"template": {"metadata": {"labels": labels}}},
        });
        assert_eq!(manifest(object), Some(expected));
    }

    #[test]
    fn objects_of_servers_and_controllers_have_no_manifest() {
        let created = [
            json!({"kind": "Namespace", "metadata": {"name": "kube-system"}}),
            json!({"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "shop"}}),
            json!({"kind": "Endpoints", "metadata": {"name": "a", "labels": {"endpoints.kubernetes.io/managed-by": "b"}}}),
            json!({"kind": "Pod", "metadata": {"name": "a", "ownerReferences": [{"controller": true}]}}),
            json!({"kind": "Pod", "metadata": {"name": "a", "deletionTimestamp": "2026-01-02T03:04:05Z"}}),
        ];
        for object in created {
            assert_eq!(manifest(object.clone()), None, "{object}");
        }
        let account = json!({
            "kind": "ServiceAccount", "metadata": {"name": "default"}, "imagePullSecrets": [{"name": "a"}],
        });
        assert_eq!(manifest(account.clone()), Some(account));
    }
}
