//! Namespaces: creates and restores their default objects, and finalizes those that are deleted.

mod conditions;
mod finalize;

use std::sync::Arc;

use outrigger_builtin::kinds::Kind;
use outrigger_store::{Object, Resource, Scope};
use serde_json::{Value, json};

use super::reflector::Reflector;
use crate::server::State;
use crate::verbs::{RandomError, random_uid, write_value};

const ROOT_CERTIFICATES: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// Creates the default objects of a new namespace.
pub(super) async fn after_create(state: &Arc<State>, kind: &Kind, object: &Object) {
    if kind.group.is_empty() && kind.kind == "Namespace" {
        create_default_objects(state, object.key().name()).await;
    }
}

async fn create_default_objects(state: &Arc<State>, namespace: &str) {
    let objects = match default_objects(state, namespace) {
        Ok(objects) => objects,
        Err(error) => {
            tracing::error!(namespace, %error, "failed to create the default objects of a namespace");
            return;
        }
    };
    for (plural, object) in objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        create_if_missing(state, plural, namespace, name, &object).await;
    }
}

/// The service account and the CA bundle of a namespace, with the plural names of their kinds.
pub(crate) fn default_objects(
    state: &State,
    namespace: &str,
) -> Result<[(&'static str, Value); 2], RandomError> {
    let account = json!({
        "kind": "ServiceAccount", "apiVersion": "v1",
        "metadata": metadata(state, namespace, "default")?,
    });
    let mut certificates = json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": metadata(state, namespace, ROOT_CERTIFICATES)?,
        "data": {"ca.crt": state.credentials.root_certificate()},
    });
    certificates["metadata"]["annotations"] = json!({"kubernetes.io/description": DESCRIPTION});
    certificates["metadata"]["managedFields"] = json!([{
        "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
        "time": state.now_text(), "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:data": {".": {}, "f:ca.crt": {}},
            "f:metadata": {"f:annotations": {".": {}, "f:kubernetes.io/description": {}}},
        },
    }]);
    Ok([("serviceaccounts", account), ("configmaps", certificates)])
}

/// The metadata of an object that the server creates itself.
pub(crate) fn metadata(state: &State, namespace: &str, name: &str) -> Result<Value, RandomError> {
    let mut metadata = json!({
        "name": name,
        "uid": random_uid()?,
        "creationTimestamp": state.now_text(),
    });
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    Ok(metadata)
}

/// Creates an object of the core group unless it exists.
async fn create_if_missing(
    state: &State,
    plural: &str,
    namespace: &str,
    name: &str,
    value: &Value,
) {
    let resource = Resource::new("", plural);
    let Some(key) = resource
        .ok()
        .and_then(|resource| resource.key(namespace, name).ok())
    else {
        return;
    };
    if state.store.get(&key).is_none() {
        // A concurrent task writes the same.
        let _ = write_value(state, key, value, None).await;
    }
}

/// Finalizes namespaces that are being deleted and restores default objects, while the server runs.
pub(super) async fn run(state: Arc<State>) {
    tokio::join!(
        watch_namespaces(&state),
        restore(&state, "serviceaccounts", "default"),
        restore(&state, "configmaps", ROOT_CERTIFICATES),
    );
}

/// Creates a default object again when it is deleted, and resets its contents when they are changed.
async fn restore(state: &Arc<State>, plural: &str, name: &str) {
    let Ok(resource) = Resource::new("", plural) else {
        return;
    };
    let mut objects = Reflector::in_scope(&state.store, Scope::resource(&resource).named(name));
    loop {
        let observed = objects.next().await;
        let key = observed.key();
        let namespaces = Resource::new("", "namespaces");
        let namespace = namespaces.and_then(|namespaces| namespaces.key("", key.namespace()));
        let is_active = namespace.is_ok_and(|namespace| {
            let namespace = state.store.get(&namespace);
            namespace.is_some_and(|namespace| namespace.metadata().deletion_timestamp().is_none())
        });
        if !is_active {
            continue;
        }
        let Ok(defaults) = default_objects(state, key.namespace()) else {
            continue;
        };
        let default = defaults.into_iter().find(|(kind, _)| *kind == plural);
        let Some((_, default)) = default else {
            continue;
        };
        match state.store.get(key) {
            None => create_if_missing(state, plural, key.namespace(), name, &default).await,
            Some(object) => reset_data(state, &object, &default).await,
        }
    }
}

async fn reset_data(state: &State, object: &Object, default: &Value) {
    let Ok(mut value) = serde_json::from_slice::<Value>(object.bytes()) else {
        return;
    };
    if default["data"].is_object() && value["data"] != default["data"] {
        value["data"] = default["data"].clone();
        // If another write comes first, its event triggers another attempt.
        let _ = write_value(state, object.key().clone(), &value, Some(object)).await;
    }
}

async fn watch_namespaces(state: &Arc<State>) {
    let Ok(resource) = Resource::new("", "namespaces") else {
        return;
    };
    let mut namespaces = Reflector::new(&state.store, &resource);
    loop {
        finalize::spawn(state, namespaces.next().await.key());
    }
}
