//! Custom resource definitions: accepts their names, serves them, and deletes their objects before they are removed.

use std::sync::Arc;

use outrigger_apimachinery::status::Reason;
use outrigger_builtin::kinds::{Kind, is_builtin};
use outrigger_builtin::strategy::{CLEANUP_FINALIZER, remove_cleanup_finalizer};
use outrigger_store::{Key, Object, Resource, Scope};
use outrigger_structural::merge::Writer;
use serde_json::Value;
use tokio::sync::MutexGuard;

use super::reflector::Reflector;
use crate::request::DeleteOptions;
use crate::server::State;
use crate::verbs::{DeleteOutcome, delete_object, write_value};

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

pub(super) fn is_definition(kind: &Kind) -> bool {
    kind.group == GROUP && kind.kind == "CustomResourceDefinition"
}

/// Writes of definitions are serialized, because accepting names depends on the definitions before.
pub(super) async fn lock<'s>(state: &'s State, kind: &Kind) -> Option<MutexGuard<'s, ()>> {
    if is_definition(kind) {
        Some(state.definitions.lock().await)
    } else {
        None
    }
}

/// Accepts the names of a definition and serves it. The response to the writer comes after that, but has the definition
/// as written, like that of the real server.
pub(super) async fn after_write(state: &State, kind: &Kind, object: &Arc<Object>) {
    if !is_definition(kind) {
        return;
    }
    let accepted = accept(state, kind, object).await;
    install(state, accepted.as_ref().unwrap_or(object));
}

/// Writes the accepted names and conditions, if they change.
async fn accept(state: &State, kind: &Kind, object: &Arc<Object>) -> Option<Arc<Object>> {
    let old: Value = serde_json::from_slice(object.bytes()).ok()?;
    let now = state.now_text();
    let mut new = old.clone();
    state.registry.accept(&mut new, &now);
    if new == old {
        return None;
    }
    let schema = state
        .schemas
        .get(&state.registry.snapshot(), kind, "status");
    let writer = Writer {
        manager: "kube-apiserver",
        now: &now,
    };
    let new = schema.manager.update(Some(&old), new, writer);
    write_value(state, object.key().clone(), &new, Some(object))
        .await
        .ok()
}

/// A definition that is being deleted still serves its objects, but no longer creates any.
pub(super) fn after_deletion_began(state: &State, kind: &Kind, object: &Object) {
    if is_definition(kind) {
        install(state, object);
    }
}

pub(crate) fn install(state: &State, object: &Object) {
    if let Ok(definition) = serde_json::from_slice(object.bytes()) {
        state.registry.install(&definition);
        state.served_kinds_changed.notify_one();
    }
}

/// Stops serving a removed definition, and accepts definitions that conflicted with its names.
pub(super) async fn after_delete(state: &Arc<State>, kind: &Kind, name: &str) {
    if !is_definition(kind) {
        return;
    }
    state.registry.remove(name);
    state.served_kinds_changed.notify_one();
    state.schemas.remove(name);
    let group = name.split_once('.').map_or("", |(_, group)| group);
    for conflicting in state.registry.unsatisfied(group) {
        if let Some((object, _)) = load(state, &conflicting) {
            // A concurrent write of it accepts its names too.
            after_write(state, kind, &object).await;
        }
    }
}

fn resource() -> Option<Resource> {
    Resource::new(GROUP, PLURAL).ok()
}

pub(crate) fn revision(state: &State, name: &str) -> Option<u64> {
    let key = resource()?.key("", name).ok()?;
    Some(state.store.get(&key)?.revision())
}

fn load(state: &State, name: &str) -> Option<(Arc<Object>, Value)> {
    let key = resource()?.key("", name).ok()?;
    let object = state.store.get(&key)?;
    let value = serde_json::from_slice(object.bytes()).ok()?;
    Some((object, value))
}

/// Finalizes definitions that are being deleted, and accepts those whose writer was canceled, while the server runs.
pub(super) async fn run(state: Arc<State>) {
    let Some(resource) = resource() else {
        return;
    };
    let mut definitions = Reflector::new(&state.store, &resource);
    loop {
        sync(&state, &*definitions.next().await);
    }
}

/// Spawns a task for each definition, so that one that waits for a finalizer does not block others.
fn sync(state: &Arc<State>, object: &Object) {
    let is_deleted = object.metadata().deletion_timestamp().is_some();
    if !is_deleted && is_accepted(object) {
        return;
    }
    super::spawn(state, object.key(), move |state, key| async move {
        if is_deleted {
            finalize(&state, &key).await;
        } else {
            accept_if_pending(&state, &key).await;
        }
    });
}

fn is_accepted(object: &Object) -> bool {
    let definition: Value = serde_json::from_slice(object.bytes()).unwrap_or_default();
    definition["status"]["conditions"].is_array()
}

/// The writer of a definition may be canceled, or the server killed, before its names are accepted.
async fn accept_if_pending(state: &Arc<State>, key: &Key) {
    let _guard = state.definitions.lock().await;
    if let Some((object, _)) = load(state, key.name())
        && !is_accepted(&object)
        && let Some(kind) = definition_kind(state)
    {
        after_write(state, &kind, &object).await;
    }
}

/// Deletes the custom resources of a definition that is being deleted, then removes its finalizer.
async fn finalize(state: &Arc<State>, key: &Key) {
    let Some((object, definition)) = load(state, key.name()) else {
        return;
    };
    let metadata = object.metadata();
    let has_finalizer = metadata
        .finalizers()
        .iter()
        .any(|finalizer| &**finalizer == CLEANUP_FINALIZER);
    if metadata.deletion_timestamp().is_none() || !has_finalizer {
        return;
    }
    if !delete_custom_resources(state, &definition).await {
        // Finalizers keep some of them.
        wait_until_empty(state, &definition).await;
    }
    let Some((object, mut definition)) = load(state, key.name()) else {
        return;
    };
    let is_finalized = remove_cleanup_finalizer(&mut definition, &state.now_text());
    let _guard = state.definitions.lock().await;
    let precondition = outrigger_store::Precondition::revision(object.revision());
    let kind = definition_kind(state);
    if is_finalized {
        let deleted = state
            .store
            .write(outrigger_store::Transaction::delete(
                key.clone(),
                precondition,
            ))
            .await;
        if let (Ok(_), Some(kind)) = (deleted, kind) {
            after_delete(state, &kind, key.name()).await;
        }
    } else if let Ok(written) = write_value(state, key.clone(), &definition, Some(&object)).await {
        install(state, &written);
    }
}

fn definition_kind(state: &State) -> Option<Arc<Kind>> {
    let kinds = state.registry.snapshot();
    kinds.resource(GROUP, "v1", PLURAL).cloned()
}

/// The objects of a definition; none if the resource is built in. The plural is that of the spec, because clients may
/// write the status.
fn objects_of(definition: &Value) -> Option<Scope> {
    let (group, plural) = group_and_plural(definition)?;
    if is_builtin(group, plural) {
        return None;
    }
    Scope::of(group, plural).ok()
}

fn group_and_plural(definition: &Value) -> Option<(&str, &str)> {
    let spec = &definition["spec"];
    Some((spec["group"].as_str()?, spec["names"]["plural"].as_str()?))
}

/// Deletes all custom resources of a definition; false if some remain.
async fn delete_custom_resources(state: &Arc<State>, definition: &Value) -> bool {
    let Some(scope) = objects_of(definition) else {
        return true;
    };
    let kinds = state.registry.snapshot();
    let resource = group_and_plural(definition);
    let kind = kinds
        .iter()
        .find(|kind| Some((kind.group.as_str(), kind.plural.as_str())) == resource);
    let kind = kind.cloned();
    let mut all_removed = true;
    for object in state.store.snapshot().list(&scope) {
        let is_removed = if let Some(kind) = &kind {
            match delete_object(state, kind, object.key(), &DeleteOptions::default()).await {
                Ok(DeleteOutcome::Removed(_)) => true,
                Ok(DeleteOutcome::Pending(_)) => false,
                Err(status) => status.reason == Some(Reason::NotFound),
            }
        } else {
            let precondition = outrigger_store::Precondition::exists();
            let transaction =
                outrigger_store::Transaction::delete(object.key().clone(), precondition);
            state.store.write(transaction).await.is_ok()
        };
        all_removed &= is_removed;
    }
    all_removed
}

async fn wait_until_empty(state: &Arc<State>, definition: &Value) {
    let Some(scope) = objects_of(definition) else {
        return;
    };
    loop {
        let snapshot = state.store.snapshot();
        if snapshot.list(&scope).next().is_none() {
            return;
        }
        let revision = snapshot.revision();
        drop(snapshot);
        if let Ok(mut watcher) = state.store.watch(scope.clone(), revision)
            && watcher.next().await.is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Options, Server};
    use outrigger_store::{EncodedObject, Transaction};
    use serde_json::json;

    #[tokio::test]
    async fn accepts_a_definition_whose_writer_was_canceled() {
        let server = Server::open(Options::in_memory()).await.unwrap();
        let state = &server.state;
        let key = resource().unwrap().key("", "boats.example.com").unwrap();
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.example.com", "uid": "1"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
            "status": {"storedVersions": ["v1"]},
        });
        let scope = Scope::resource(&resource().unwrap());
        let mut watcher = state.store.watch(scope, state.store.revision()).unwrap();
        let transaction = Transaction::create(key, EncodedObject::new(&definition).unwrap());
        state.store.write(transaction).await.unwrap();
        while !is_accepted(watcher.next().await.unwrap().object()) {}
        server.close().await;
    }

    /// A definition that an older version accepted, or whose status a client has changed.
    #[tokio::test]
    async fn a_stored_definition_of_a_built_in_resource_neither_serves_nor_deletes_it() {
        let server = Server::open(Options::in_memory()).await.unwrap();
        let state = &server.state;
        let roles = Scope::of("rbac.authorization.k8s.io", "clusterroles").unwrap();
        let count = || state.store.snapshot().list(&roles).count();
        let before = count();
        for plural in ["clusterroles", "others"] {
            let group = "rbac.authorization.k8s.io";
            let key = resource().unwrap().key("", &format!("{plural}.{group}"));
            let key = key.unwrap();
            let established = json!({"type": "Established", "status": "True"});
            let definition = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {
                    "name": key.name(), "uid": plural, "finalizers": [CLEANUP_FINALIZER],
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                },
                "spec": {
                    "group": group, "scope": "Cluster",
                    "names": {"plural": plural, "singular": "other", "kind": "Other", "listKind": "OtherList"},
                    "versions": [{"name": "v9", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {"type": "object"}}}],
                },
                "status": {
                    "storedVersions": ["v9"], "conditions": [established],
                    "acceptedNames": {"plural": "clusterroles", "singular": "other", "kind": "Other", "listKind": "OtherList"},
                },
            });
            let encoded = EncodedObject::new(&definition).unwrap();
            let scope = Scope::resource(&resource().unwrap());
            let mut watcher = state.store.watch(scope, state.store.revision()).unwrap();
            let transaction = Transaction::create(key.clone(), encoded);
            state.store.write(transaction).await.unwrap();
            // The controllers of the server may have removed it already.
            if let Some(stored) = state.store.get(&key) {
                install(state, &stored);
            }
            let kinds = state.registry.snapshot();
            assert!(kinds.version(group, "v9").is_none(), "{plural}");
            finalize(state, &key).await;
            while state.store.get(&key).is_some() {
                watcher.next().await.unwrap();
            }
            assert_eq!(count(), before, "{plural}");
        }
        server.close().await;
    }
}
