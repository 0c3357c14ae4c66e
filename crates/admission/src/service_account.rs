//! `ServiceAccount`: sets the service account of a Pod, mounts its token and adds its image pull secrets.

use outrigger_apimachinery::status::Status;
use outrigger_builtin::fields::text;
use serde_json::{Map, Value, json};

use super::{Attributes, ClusterState};

const TOKEN_MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

pub(super) fn mutate(
    attributes: &Attributes<'_>,
    pod: &mut Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    if pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_string() {
        return Ok(());
    }
    let name = text(&pod["metadata"], "name").to_owned();
    let namespace = attributes.namespace;
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    let account = spec.get("serviceAccountName").and_then(Value::as_str);
    let account = account.unwrap_or("default").to_owned();
    let Some(object) = cluster.service_account(namespace, &account) else {
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"
        );
        return Err(attributes.forbidden(&name, why));
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
