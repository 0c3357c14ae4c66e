//! Namespaces: creates their default objects, and deletes their contents before they are removed.

use std::sync::Arc;

use outrigger_apimachinery::status::Reason;
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::strategy;
use outrigger_store::{Key, Object, Precondition, Resource, Scope, Transaction, WriteError};
use serde_json::{Value, json};

use super::reflector::Reflector;
use crate::request::DeleteOptions;
use crate::server::State;
use crate::verbs::{DeleteOutcome, RandomError, delete_object, random_uid, write_value};

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

/// Finalizes namespaces that are being deleted, while the server runs.
pub(super) async fn run(state: Arc<State>) {
    let Ok(resource) = Resource::new("", "namespaces") else {
        return;
    };
    let mut namespaces = Reflector::new(&state.store, &resource);
    loop {
        sync(&state, namespaces.next().await.key());
    }
}

/// Spawns a task for each namespace, so that one that waits for a finalizer does not block others.
fn sync(state: &Arc<State>, key: &Key) {
    let is_terminating = state
        .store
        .get(key)
        .is_some_and(|object| object.metadata().deletion_timestamp().is_some());
    if is_terminating {
        super::spawn(state, key, |state, key| async move {
            finalize(&state, &key).await;
        });
    }
}

/// Deletes the contents of a namespace, then the namespace.
async fn finalize(state: &Arc<State>, key: &Key) {
    loop {
        let Some(namespace) = state.store.get(key) else {
            return;
        };
        let Ok(mut value) = serde_json::from_slice::<Value>(namespace.bytes()) else {
            return;
        };
        let has_finalizer = value["spec"]["finalizers"]
            .as_array()
            .is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == "kubernetes"));
        if !has_finalizer {
            return;
        }
        let revision = state.store.revision();
        if !delete_contents(state, key.name()).await {
            wait_for_change(state, key.name(), revision).await;
            continue;
        }
        if let Some(finalizers) = value["spec"]["finalizers"].as_array_mut() {
            finalizers.retain(|finalizer| finalizer != "kubernetes");
        }
        match write_finalized(state, key, &namespace, &value).await {
            Err(WriteError::Conflict { .. }) => {}
            _ => return,
        }
    }
}

/// Writes the namespace without our finalizer, or removes it if it was the last.
async fn write_finalized(
    state: &Arc<State>,
    key: &Key,
    old: &Arc<Object>,
    value: &Value,
) -> Result<(), WriteError> {
    if strategy::for_kind("", "Namespace").is_finalized(value) {
        let precondition = Precondition::revision(old.revision());
        state
            .store
            .write(Transaction::delete(key.clone(), precondition))
            .await?;
        // Objects may have been created in the meantime.
        delete_contents(state, key.name()).await;
        return Ok(());
    }
    write_value(state, key.clone(), value, Some(old))
        .await
        .map(drop)
}

/// Deletes the objects in a namespace; false if some remain.
async fn delete_contents(state: &Arc<State>, namespace: &str) -> bool {
    let kinds = state.registry.snapshot();
    let mut is_empty = true;
    for kind in kinds.stored().filter(|kind| kind.namespaced) {
        let Ok(resource) = Resource::new(&kind.storage.group, &kind.plural) else {
            continue;
        };
        let Ok(scope) = Scope::namespace(&resource, namespace) else {
            continue;
        };
        for object in state.store.snapshot().list(&scope) {
            let options = DeleteOptions {
                // No kubelet terminates the pods.
                grace_period: Some(0),
                ..DeleteOptions::default()
            };
            let deleted = delete_object(state, kind, object.key(), &options).await;
            is_empty &= match deleted {
                Ok(DeleteOutcome::Removed(_)) => true,
                Ok(DeleteOutcome::Pending(_)) => false,
                Err(status) => status.reason == Some(Reason::NotFound),
            };
        }
    }
    is_empty
}

/// Waits until something in the namespace changes after `revision`.
async fn wait_for_change(state: &Arc<State>, namespace: &str, revision: u64) {
    let Ok(mut watcher) = state.store.watch(Scope::everything(), revision) else {
        return;
    };
    while let Ok(event) = watcher.next().await {
        if event.key().namespace() == namespace {
            return;
        }
    }
    std::future::pending::<()>().await;
}
