//! Custom resource definitions: accepted and served at once; their objects go before they do.

use std::sync::Arc;

use outrigger_builtin::kinds::Kind;
use outrigger_builtin::strategy::{CLEANUP_FINALIZER, remove_cleanup_finalizer};
use outrigger_store::{Key, Object, Resource, Scope};
use outrigger_structural::merge::Writer;
use serde_json::Value;
use tokio::sync::MutexGuard;

use crate::request::DeleteOptions;
use crate::server::State;
use crate::verbs::{Deleted, delete_object, write_value};

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

fn is_definition(kind: &Kind) -> bool {
    kind.group == GROUP && kind.kind == "CustomResourceDefinition"
}

/// Definitions are written one after another: which names are free depends on those before.
pub(super) async fn lock<'s>(state: &'s State, kind: &Kind) -> Option<MutexGuard<'s, ()>> {
    if is_definition(kind) {
        Some(state.definitions.lock().await)
    } else {
        None
    }
}

/// Judges a definition that was just written, and serves it. Whoever wrote it is answered after that, but sees the
/// definition as it was written, as with the real server.
pub(super) async fn after_write(state: &State, kind: &Kind, object: &Arc<Object>) {
    if !is_definition(kind) {
        return;
    }
    let judged = judge(state, kind, object).await;
    install(state, judged.as_ref().unwrap_or(object));
}

/// Writes which names a definition gets, if that is news.
async fn judge(state: &State, kind: &Kind, object: &Arc<Object>) -> Option<Arc<Object>> {
    let old: Value = serde_json::from_slice(object.bytes()).ok()?;
    let now = state.now_text();
    let mut new = old.clone();
    state.registry.accept(&mut new, &now);
    if new == old {
        return None;
    }
    let shape = state.shapes.get(&state.registry.snapshot(), kind, "status");
    let writer = Writer {
        manager: "kube-apiserver",
        now: &now,
    };
    let new = shape.manager.update(Some(&old), new, writer);
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
    }
}

/// Ends the service of a definition that is gone, and judges those again that its names kept waiting.
pub(super) async fn after_delete(state: &Arc<State>, kind: &Kind, name: &str) {
    if !is_definition(kind) {
        return;
    }
    state.registry.remove(name);
    state.shapes.forget(name);
    let group = name.split_once('.').map_or("", |(_, group)| group);
    for waiting in state.registry.unsatisfied(group) {
        if let Some((object, _)) = load(state, &waiting) {
            // Whoever changes it meanwhile has it judged too.
            after_write(state, kind, &object).await;
        }
    }
}

fn resource() -> Option<Resource> {
    Resource::new(GROUP, PLURAL).ok()
}

/// The revision of the last change of a definition.
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

/// Empties definitions that are being deleted, and judges those whose writer went away too early, for as long as the
/// server runs.
pub(super) async fn run(state: &Arc<State>) {
    let Some(resource) = resource() else {
        return;
    };
    let scope = Scope::resource(&resource);
    loop {
        let snapshot = state.store.snapshot();
        let Ok(mut watcher) = state.store.watch(scope.clone(), snapshot.revision()) else {
            continue;
        };
        for object in snapshot.list(&scope) {
            begin(state, object);
        }
        drop(snapshot);
        loop {
            match watcher.next().await {
                Ok(event) => begin(state, event.object()),
                Err(outrigger_store::watch::WatchEnd::Overflow) => break,
                Err(outrigger_store::watch::WatchEnd::Closed) => {
                    return std::future::pending().await;
                }
            }
        }
    }
}

/// Each definition is seen to on its own: one that waits for a finalizer holds up no other.
fn begin(state: &Arc<State>, object: &Object) {
    let is_deleted = object.metadata().deletion_timestamp().is_some();
    if !is_deleted && is_judged(object) {
        return;
    }
    let (state, key) = (Arc::clone(state), object.key().clone());
    tokio::spawn(async move {
        let mut closed = state.closed.clone();
        let work = async {
            if is_deleted {
                finish(&state, &key).await;
            } else {
                judge_again(&state, &key).await;
            }
        };
        tokio::select! {
            () = work => {}
            _ = closed.wait_for(|closed| *closed) => {}
        }
    });
}

fn is_judged(object: &Object) -> bool {
    let definition: Value = serde_json::from_slice(object.bytes()).unwrap_or_default();
    definition["status"]["conditions"].is_array()
}

/// A definition is written, then judged. Who wrote it may have gone in between, or the server may have been killed.
async fn judge_again(state: &Arc<State>, key: &Key) {
    let _guard = state.definitions.lock().await;
    if let Some((object, _)) = load(state, key.name())
        && !is_judged(&object)
        && let Some(kind) = definition_kind(state)
    {
        after_write(state, &kind, &object).await;
    }
}

/// Deletes the objects of a definition that is being deleted, and then what keeps it.
async fn finish(state: &Arc<State>, key: &Key) {
    let Some((object, definition)) = load(state, key.name()) else {
        return;
    };
    let metadata = object.metadata();
    let is_waiting = metadata
        .finalizers()
        .iter()
        .any(|finalizer| &**finalizer == CLEANUP_FINALIZER);
    if metadata.deletion_timestamp().is_none() || !is_waiting {
        return;
    }
    let all_gone = empty(state, &definition).await;
    if !all_gone {
        // Somebody's finalizers hold objects back. Each that goes is seen by `wait_for_objects`.
        wait_for_objects(state, &definition).await;
    }
    let Some((object, mut definition)) = load(state, key.name()) else {
        return;
    };
    let is_free = remove_cleanup_finalizer(&mut definition, &state.now_text());
    let _guard = state.definitions.lock().await;
    let precondition = outrigger_store::Precondition::revision(object.revision());
    let kind = definition_kind(state);
    if is_free {
        let gone = state
            .store
            .write(outrigger_store::Transaction::delete(
                key.clone(),
                precondition,
            ))
            .await;
        if let (Ok(_), Some(kind)) = (gone, kind) {
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

fn objects_of(definition: &Value) -> Option<Scope> {
    let group = definition["spec"]["group"].as_str()?;
    let plural = definition["status"]["acceptedNames"]["plural"].as_str()?;
    Some(Scope::resource(&Resource::new(group, plural).ok()?))
}

/// Deletes all objects of a definition; whether all are gone.
async fn empty(state: &Arc<State>, definition: &Value) -> bool {
    let Some(scope) = objects_of(definition) else {
        return true;
    };
    let kinds = state.registry.snapshot();
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let name = definition["status"]["acceptedNames"]["kind"]
        .as_str()
        .unwrap_or_default();
    let kind = kinds.any_version(group, name).cloned();
    let mut all_gone = true;
    for object in state.store.snapshot().list(&scope) {
        let gone = if let Some(kind) = &kind {
            let deleted = delete_object(state, kind, object.key(), &DeleteOptions::default()).await;
            !matches!(deleted, Ok(Deleted::Pending(_)))
        } else {
            let precondition = outrigger_store::Precondition::exists();
            let transaction =
                outrigger_store::Transaction::delete(object.key().clone(), precondition);
            state.store.write(transaction).await.is_ok()
        };
        all_gone &= gone;
    }
    all_gone
}

async fn wait_for_objects(state: &Arc<State>, definition: &Value) {
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
    async fn a_definition_whose_writer_went_before_it_was_judged_is_judged_all_the_same() {
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
        while !is_judged(watcher.next().await.unwrap().object()) {}
        server.close().await;
    }
}
