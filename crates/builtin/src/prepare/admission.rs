//! The default mutating admission plugins of kube-apiserver: `ServiceAccount`, Priority and `DefaultTolerationSeconds` for
//! Pods; `DefaultStorageClass` and `DefaultIngressClass`; `StorageObjectInUseProtection`; `TaintNodesByCondition`.
//!
//! The `lifecycle` of the server removes the protection finalizers again.

use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use serde_json::{Map, Value, json};

use crate::fields::object_mut;
use crate::kinds::Kind;

const PODS: GroupResource<'static> = GroupResource::new("", "pods");
const TOKEN_MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const TOLERATION_SECONDS: i64 = 300;

/// The priority of a `PriorityClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priority {
    pub class: String,
    pub value: i64,
    pub preemption_policy: String,
}

/// The cluster state that admission plugins look up.
pub trait ClusterState {
    /// A `PriorityClass` by name.
    fn priority_class(&self, name: &str) -> Option<Priority>;
    /// The default `PriorityClass`.
    fn default_priority_class(&self) -> Option<Priority>;
    /// A `ServiceAccount` of the namespace of the Pod.
    fn service_account(&self, namespace: &str, name: &str) -> Option<Value>;
    /// The default `StorageClass`.
    fn default_storage_class(&self) -> Option<String>;
    /// The default `IngressClass`.
    fn default_ingress_class(&self) -> Option<String>;
    /// Five random characters for the name of the token volume.
    fn random_suffix(&self) -> Result<String, Status>;
}

/// Runs the admission plugins on a new object.
pub fn admit(
    kind: &Kind,
    object: &mut Value,
    namespace: &str,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => admit_pod(object, namespace, cluster),
        ("", "PersistentVolumeClaim") => {
            const ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
            let class = cluster.default_storage_class();
            set_class(object, "storageClassName", ANNOTATION, class);
            protect(object, "kubernetes.io/pvc-protection");
            Ok(())
        }
        ("networking.k8s.io", "Ingress") => {
            const ANNOTATION: &str = "kubernetes.io/ingress.class";
            let class = cluster.default_ingress_class();
            set_class(object, "ingressClassName", ANNOTATION, class);
            Ok(())
        }
        ("", "PersistentVolume") => {
            protect(object, "kubernetes.io/pv-protection");
            Ok(())
        }
        ("", "Node") => {
            taint_new_node(object);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Adds a finalizer that protects an object in use.
fn protect(object: &mut Value, finalizer: &str) {
    let metadata = object
        .as_object_mut()
        .and_then(|object| object_mut(object, "metadata"));
    let Some(metadata) = metadata else {
        return;
    };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|present| present == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}

/// Sets the default class of an object that has none, neither in its field nor in the deprecated annotation.
fn set_class(object: &mut Value, key: &str, annotation: &str, class: Option<String>) {
    let has_annotation = object["metadata"]["annotations"][annotation].is_string();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(class) = class
        && !has_annotation
    {
        spec.entry(key).or_insert_with(|| class.into());
    }
}

fn admit_pod(
    object: &mut Value,
    namespace: &str,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    let name = object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let is_mirror = object["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_string();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if !is_mirror {
        service_account(spec, &name, namespace, cluster)?;
    }
    priority(spec, &name, cluster)?;
    tolerations(spec);
    Ok(())
}

fn service_account(
    spec: &mut Map<String, Value>,
    pod: &str,
    namespace: &str,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    let account = spec.get("serviceAccountName").and_then(Value::as_str);
    let account = account.unwrap_or("default").to_owned();
    let Some(object) = cluster.service_account(namespace, &account) else {
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"
        );
        return Err(Status::forbidden(PODS, pod, why));
    };
    spec.insert("serviceAccountName".to_owned(), json!(account));
    spec.insert("serviceAccount".to_owned(), json!(account));
    let mounts_token = spec
        .get("automountServiceAccountToken")
        .or_else(|| object.get("automountServiceAccountToken"))
        .is_none_or(|mount| *mount != false);
    if mounts_token {
        mount_token(spec, cluster)?;
    }
    let secrets = &object["imagePullSecrets"];
    if !spec.contains_key("imagePullSecrets") && secrets.is_array() {
        spec.insert("imagePullSecrets".to_owned(), secrets.clone());
    }
    Ok(())
}

/// Mounts a token into each container without another mount at its path.
fn mount_token(spec: &mut Map<String, Value>, cluster: &dyn ClusterState) -> Result<(), Status> {
    let existing = spec.get("volumes").and_then(Value::as_array);
    let existing = existing.into_iter().flatten().find_map(|volume| {
        let name = volume["name"].as_str()?;
        name.starts_with("kube-api-access-")
            .then(|| name.to_owned())
    });
    let is_new = existing.is_none();
    let name = match existing {
        Some(name) => name,
        None => format!("kube-api-access-{}", cluster.random_suffix()?),
    };
    let mut is_mounted = false;
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            is_mounted |= mount_into(container, &name);
        }
    }
    if is_mounted && is_new {
        let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
        if let Some(volumes) = volumes.as_array_mut() {
            volumes.push(token_volume(&name));
        }
    }
    Ok(())
}

fn mount_into(container: &mut Value, volume: &str) -> bool {
    let Some(container) = container.as_object_mut() else {
        return false;
    };
    let mounts = container.entry("volumeMounts").or_insert_with(|| json!([]));
    let Some(mounts) = mounts.as_array_mut() else {
        return false;
    };
    if mounts
        .iter()
        .any(|mount| mount["mountPath"] == TOKEN_MOUNT_PATH)
    {
        return false;
    }
    mounts.push(json!({"name": volume, "readOnly": true, "mountPath": TOKEN_MOUNT_PATH}));
    true
}

fn token_volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
            "defaultMode": 0o644,
        },
    })
}

fn priority(
    spec: &mut Map<String, Value>,
    pod: &str,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    let class = spec.get("priorityClassName").and_then(Value::as_str);
    let found = match class.unwrap_or_default() {
        "" => cluster.default_priority_class(),
        class => {
            let found = cluster.priority_class(class);
            if found.is_none() {
                let why = format!("no PriorityClass with name {class} was found");
                return Err(Status::forbidden(PODS, pod, why));
            }
            found
        }
    };
    let found = found.unwrap_or_else(|| Priority {
        class: String::new(),
        value: 0,
        preemption_policy: "PreemptLowerPriority".to_owned(),
    });
    if spec
        .get("priority")
        .is_some_and(|given| *given != found.value)
    {
        let why = "the integer value of priority (";
        let given = &spec["priority"];
        let value = found.value;
        return Err(Status::forbidden(
            PODS,
            pod,
            format!(
                "{why}{given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
            ),
        ));
    }
    if !found.class.is_empty() {
        spec.insert("priorityClassName".to_owned(), json!(found.class));
    }
    spec.insert("priority".to_owned(), json!(found.value));
    spec.entry("preemptionPolicy")
        .or_insert_with(|| json!(found.preemption_policy));
    Ok(())
}

/// Adds the default tolerations of failing nodes, unless the Pod has its own.
fn tolerations(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is_tolerated = tolerations.iter().any(|toleration| {
            let covers = |field: &str, value: &str| {
                let given = toleration[field].as_str().unwrap_or_default();
                given == value || given.is_empty()
            };
            covers("key", key) && covers("effect", "NoExecute")
        });
        if !is_tolerated {
            tolerations.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}

/// Taints a new node as not ready.
fn taint_new_node(node: &mut Value) {
    let Some(spec) = node
        .as_object_mut()
        .and_then(|node| object_mut(node, "spec"))
    else {
        return;
    };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    if let Some(taints) = taints.as_array_mut() {
        const KEY: &str = "node.kubernetes.io/not-ready";
        if !taints
            .iter()
            .any(|taint| taint["key"] == KEY && taint["effect"] == "NoSchedule")
        {
            taints.push(json!({"key": KEY, "effect": "NoSchedule"}));
        }
    }
}
