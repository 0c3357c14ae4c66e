//! Turns stored objects into manifests that `kubectl apply --server-side` accepts on another server.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

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

/// Annotations that controllers set.
const CONTROLLER_ANNOTATIONS: [&str; 6] = [
    "deployment.kubernetes.io/revision",
    BIND_COMPLETED,
    "pv.kubernetes.io/bound-by-controller",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
];
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Finalizers that each server adds when an object is created.
const SERVER_FINALIZERS: [&str; 3] = [
    "customresourcecleanup.apiextensions.k8s.io",
    "kubernetes.io/pv-protection",
    "kubernetes.io/pvc-protection",
];

/// The volumes and claims that controllers create without an owner reference.
#[derive(Debug, Default)]
pub(super) struct Provisioned {
    volumes: HashSet<String>,
    /// The claims of `StatefulSets`: namespace, name and requested resources.
    claims: HashSet<(String, String, String)>,
}

impl Provisioned {
    pub(super) fn of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut provisioned = Self::default();
        for object in objects {
            match object["kind"].as_str() {
                Some("PersistentVolume") if is_provisioned(object) => {
                    let name = text(&object["metadata"]["name"]);
                    provisioned.volumes.insert(name);
                }
                Some("StatefulSet") => provisioned.claims.extend(claims(object)),
                _ => {}
            }
        }
        provisioned
    }

    fn contains(&self, object: &Value) -> bool {
        match object["kind"].as_str() {
            Some("PersistentVolume") => is_provisioned(object),
            // A claim that was resized differs from the one that the StatefulSet creates.
            Some("PersistentVolumeClaim") => self.claims.contains(&(
                text(&object["metadata"]["namespace"]),
                text(&object["metadata"]["name"]),
                object["spec"]["resources"].to_string(),
            )),
            _ => false,
        }
    }

    /// Whether a controller bound the claim to a volume that has no manifest.
    fn has_bound(&self, claim: &Value) -> bool {
        let volume = text(&claim["spec"]["volumeName"]);
        claim["metadata"]["annotations"][BIND_COMPLETED].is_string()
            && self.volumes.contains(&volume)
    }
}

fn is_provisioned(volume: &Value) -> bool {
    volume["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"].is_string()
}

/// The claims that a `StatefulSet` has for its replicas.
fn claims(set: &Value) -> impl Iterator<Item = (String, String, String)> {
    let spec = &set["spec"];
    let (name, namespace) = (&set["metadata"]["name"], &set["metadata"]["namespace"]);
    let start = spec["ordinals"]["start"].as_u64().unwrap_or(0);
    let replicas = spec["replicas"].as_u64().unwrap_or(1);
    let templates = spec["volumeClaimTemplates"]
        .as_array()
        .into_iter()
        .flatten();
    templates.flat_map(move |template| {
        let prefix = format!("{}-{}", text(&template["metadata"]["name"]), text(name));
        let resources = template["spec"]["resources"].to_string();
        (start..start.saturating_add(replicas)).map(move |ordinal| {
            (
                text(namespace),
                format!("{prefix}-{ordinal}"),
                resources.clone(),
            )
        })
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The manifest of an object; none for one that a server or a controller creates itself.
pub(super) fn manifest(mut object: Value, provisioned: &Provisioned) -> Option<Value> {
    let is_created = is_created_by_servers(&object) || is_controlled(&object);
    if is_created || provisioned.contains(&object) {
        return None;
    }
    if object["kind"] == "PersistentVolumeClaim" && provisioned.has_bound(&object) {
        remove(&mut object["spec"], &["volumeName"]);
    }
    let metadata = object["metadata"].as_object_mut()?;
    if metadata.contains_key("deletionTimestamp") {
        return None;
    }
    metadata.retain(|key, _| !ASSIGNED.contains(&key.as_str()));
    remove_controller_metadata(metadata);
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

/// Removes the annotations and finalizers that the other server sets itself.
fn remove_controller_metadata(metadata: &mut Map<String, Value>) {
    if let Some(annotations) = metadata.get_mut("annotations") {
        remove(annotations, &CONTROLLER_ANNOTATIONS);
        if *annotations == json!({}) {
            metadata.remove("annotations");
        }
    }
    if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
        finalizers.retain(|finalizer| !SERVER_FINALIZERS.contains(&&*text(finalizer)));
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        }
    }
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
    use super::*;

    fn manifest(object: Value) -> Option<Value> {
        super::manifest(object, &Provisioned::default())
    }

    #[test]
    fn claims_and_volumes_that_controllers_provision_have_no_manifest() {
        let annotations = json!({"pv.kubernetes.io/provisioned-by": "p"});
        let volume = json!({"kind": "PersistentVolume", "metadata": {"name": "pvc-1", "annotations": annotations}});
        let requests = json!({"requests": {"storage": "1Gi"}});
        let set = json!({
            "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "n"},
            "spec": {"replicas": 2, "volumeClaimTemplates": [
                {"metadata": {"name": "data"}, "spec": {"resources": requests}},
            ]},
        });
        let claim = |name: &str, volume: &str, resources: &Value| {
            json!({
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": name, "namespace": "n", "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
                    "finalizers": ["kubernetes.io/pvc-protection", "example.com/mine"],
                },
                "spec": {"volumeName": volume, "resources": resources},
            })
        };
        let provisioned = Provisioned::of([&volume, &set]);
        let manifest = |object: Value| super::manifest(object, &provisioned);
        assert_eq!(manifest(volume), None);
        assert_eq!(manifest(claim("data-db-1", "pvc-1", &requests)), None);
        // A StatefulSet creates neither a claim beyond its replicas nor one of another size.
        let resized = json!({"requests": {"storage": "2Gi"}});
        assert!(manifest(claim("data-db-2", "pvc-1", &requests)).is_some());
        assert!(manifest(claim("data-db-1", "pvc-1", &resized)).is_some());
        let expected = |spec: &Value| {
            json!({
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "mine", "namespace": "n", "finalizers": ["example.com/mine"]},
                "spec": spec,
            })
        };
        let dynamic = expected(&json!({"resources": requests}));
        assert_eq!(manifest(claim("mine", "pvc-1", &requests)), Some(dynamic));
        let fixed = expected(&json!({"resources": requests, "volumeName": "disk"}));
        assert_eq!(manifest(claim("mine", "disk", &requests)), Some(fixed));
    }

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
