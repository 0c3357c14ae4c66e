//! Namespaces: what every one holds, and how one is emptied before it goes.

use std::sync::Arc;

use outrigger_builtin::kinds::Kind;
use outrigger_store::watch::WatchEnd;
use outrigger_store::{Key, Object, Precondition, Resource, Scope, Transaction, WriteError};
use serde_json::{Value, json};

use crate::request::DeleteOptions;
use crate::server::State;
use crate::verbs::{Deleted, RandomError, delete_object, random_uid, write_value};

const ROOT_CERTIFICATES: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// Fills a namespace that was just created, before its creator is answered.
pub(super) async fn after_create(state: &Arc<State>, kind: &Kind, object: &Object) {
    if kind.group.is_empty() && kind.kind == "Namespace" {
        fill(state, object.key().name()).await;
    }
}

/// Writes the service account and the certificates that every namespace has.
async fn fill(state: &Arc<State>, namespace: &str) {
    let contents = match contents(state, namespace) {
        Ok(contents) => contents,
        Err(error) => {
            tracing::error!(namespace, %error, "failed to create the default objects of a namespace");
            return;
        }
    };
    for (plural, object) in contents {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        write_missing(state, plural, namespace, name, &object).await;
    }
}

/// What every namespace holds, with the plural names of the kinds.
pub(crate) fn contents(
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

/// The metadata of an object that the server makes itself.
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

/// Writes an object of the core group unless it is there.
async fn write_missing(state: &State, plural: &str, namespace: &str, name: &str, value: &Value) {
    let resource = Resource::new("", plural);
    let Some(key) = resource
        .ok()
        .and_then(|resource| resource.key(namespace, name).ok())
    else {
        return;
    };
    if state.store.get(&key).is_none() {
        // Whoever was faster wrote the same.
        let _ = write_value(state, key, value, None).await;
    }
}

/// Empties namespaces that are being deleted, and keeps the others filled, for as long as the server runs.
pub(super) async fn run(state: &Arc<State>) {
    let Ok(resource) = Resource::new("", "namespaces") else {
        return;
    };
    let scope = Scope::resource(&resource);
    loop {
        let snapshot = state.store.snapshot();
        let Ok(mut watcher) = state.store.watch(scope.clone(), snapshot.revision()) else {
            continue;
        };
        for object in snapshot.list(&scope) {
            begin(state, object.key());
        }
        drop(snapshot);
        loop {
            match watcher.next().await {
                Ok(event) => begin(state, event.key()),
                Err(WatchEnd::Overflow) => break,
                Err(WatchEnd::Closed) => return std::future::pending().await,
            }
        }
    }
}

/// Each namespace is emptied on its own: one that waits for a finalizer holds up no other.
fn begin(state: &Arc<State>, key: &Key) {
    let is_terminating = state
        .store
        .get(key)
        .is_some_and(|object| object.metadata().deletion_timestamp().is_some());
    if is_terminating {
        let (state, key) = (Arc::clone(state), key.clone());
        tokio::spawn(async move {
            let mut closed = state.closed.clone();
            tokio::select! {
                () = finish(&state, &key) => {}
                _ = closed.wait_for(|closed| *closed) => {}
            }
        });
    }
}

/// Deletes everything in a namespace, then the namespace.
async fn finish(state: &Arc<State>, key: &Key) {
    loop {
        let Some(namespace) = state.store.get(key) else {
            return;
        };
        let Ok(mut value) = serde_json::from_slice::<Value>(namespace.bytes()) else {
            return;
        };
        let has_ours = value["spec"]["finalizers"]
            .as_array()
            .is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == "kubernetes"));
        if !has_ours {
            return;
        }
        let revision = state.store.revision();
        if !empty(state, key.name()).await {
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

/// Takes away the last finalizer, and the namespace with it if nothing else keeps it.
async fn write_finalized(
    state: &Arc<State>,
    key: &Key,
    old: &Arc<Object>,
    value: &Value,
) -> Result<(), WriteError> {
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let is_free =
        is_empty(&value["spec"]["finalizers"]) && is_empty(&value["metadata"]["finalizers"]);
    if is_free {
        let precondition = Precondition::revision(old.revision());
        state
            .store
            .write(Transaction::delete(key.clone(), precondition))
            .await?;
        // Whatever slipped in at the last moment.
        empty(state, key.name()).await;
        return Ok(());
    }
    write_value(state, key.clone(), value, Some(old))
        .await
        .map(drop)
}

/// Deletes what is in a namespace; whether nothing is left.
async fn empty(state: &Arc<State>, namespace: &str) -> bool {
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
                // Nobody is there to end them in time.
                grace_period: Some(0),
                ..DeleteOptions::default()
            };
            let deleted = delete_object(state, kind, object.key(), &options).await;
            is_empty &= !matches!(deleted, Ok(Deleted::Pending(_)));
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
