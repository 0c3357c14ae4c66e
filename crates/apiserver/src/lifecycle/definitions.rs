//! Custom resource definitions: accepted and served at once; their objects go before they do.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::MutexGuard;

use crate::kinds::Kind;
use crate::request::DeleteOptions;
use crate::schema::{self, FieldError};
use crate::server::State;
use crate::store::{Key, Object, Resource, Scope};
use crate::verbs::{Deleted, delete_object, write_value};

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(crate) fn is_definition(kind: &Kind) -> bool {
    kind.group == GROUP && kind.kind == "CustomResourceDefinition"
}

/// Definitions are written one after another: which names are free depends on those before.
pub(crate) async fn lock<'s>(state: &'s State, kind: &Kind) -> Option<MutexGuard<'s, ()>> {
    if is_definition(kind) {
        Some(state.definitions.lock().await)
    } else {
        None
    }
}

/// Judges the names of a definition that is about to be written.
pub(crate) fn accept(state: &State, kind: &Kind, definition: &mut Value, now: &str) {
    if is_definition(kind) {
        state.registry.accept(definition, now);
    }
}

/// What is wrong with the schemas of a definition.
pub(crate) fn check_schemas(definition: &Value) -> Vec<FieldError> {
    let versions = definition["spec"]["versions"].as_array();
    let versions = versions.map_or(&[][..], Vec::as_slice);
    let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    let is_same = versions
        .windows(2)
        .all(|pair| schema(&pair[0]) == schema(&pair[1]));
    let mut errors = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let path = if is_same {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{index}].schema.openAPIV3Schema")
        };
        let has_status = version["subresources"]["status"].is_object();
        errors.extend(schema::check_definition(
            &schema(version),
            &path,
            has_status,
        ));
        if is_same {
            break;
        }
    }
    errors
}

/// Serves what a definition says now that it is stored.
pub(crate) fn written(state: &State, kind: &Kind, object: &Object) {
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
pub(crate) async fn removed(state: &Arc<State>, kind: &Kind, name: &str) {
    if !is_definition(kind) {
        return;
    }
    state.registry.remove(name);
    state.shapes.forget(name);
    let group = name.split_once('.').map_or("", |(_, group)| group);
    for waiting in state.registry.unsatisfied(group) {
        let Some((object, mut definition)) = load(state, &waiting) else {
            continue;
        };
        state.registry.accept(&mut definition, &state.now_text());
        let key = object.key().clone();
        // Whoever changes it meanwhile has it judged too.
        if let Ok(written) = write_value(state, key, &definition, Some(&object)).await {
            install(state, &written);
        }
    }
}

/// The first step of a deletion: the definition says that its objects go first.
pub(crate) fn mark_terminating(definition: &mut Value, now: &str) {
    let finalizers = &mut definition["metadata"]["finalizers"];
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == CLEANUP)
    {
        finalizers.push(CLEANUP.into());
    }
    let message =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_terminating(
        definition,
        ["True", "InstanceDeletionPending", message],
        now,
    );
}

fn set_terminating(definition: &mut Value, [state, reason, message]: [&str; 3], now: &str) {
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|condition| condition["type"] != "Terminating");
        conditions.push(json!({
            "type": "Terminating", "status": state, "reason": reason, "message": message,
            "lastTransitionTime": now,
        }));
    }
}

fn resource() -> Option<Resource> {
    Resource::new(GROUP, PLURAL).ok()
}

fn load(state: &State, name: &str) -> Option<(Arc<Object>, Value)> {
    let key = resource()?.key("", name).ok()?;
    let object = state.store.get(&key)?;
    let value = serde_json::from_slice(object.bytes()).ok()?;
    Some((object, value))
}

/// Empties definitions that are being deleted, for as long as the server runs.
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
            finish(state, object.key()).await;
        }
        drop(snapshot);
        loop {
            match watcher.next().await {
                Ok(event) => finish(state, event.key()).await,
                Err(crate::watch::WatchEnd::Overflow) => break,
                Err(crate::watch::WatchEnd::Closed) => return std::future::pending().await,
            }
        }
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
        .any(|finalizer| &**finalizer == CLEANUP);
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
    let message = "removed all instances";
    let now = state.now_text();
    set_terminating(
        &mut definition,
        ["False", "InstanceDeletionCompleted", message],
        &now,
    );
    if let Some(finalizers) = definition["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|finalizer| finalizer != CLEANUP);
    }
    let is_free = definition["metadata"]["finalizers"]
        .as_array()
        .is_none_or(Vec::is_empty);
    let _guard = state.definitions.lock().await;
    let precondition = crate::store::Precondition::revision(object.revision());
    let kind = definition_kind(state);
    if is_free {
        let gone = state
            .store
            .write(crate::store::Mutation::delete(key.clone(), precondition))
            .await;
        if let (Ok(_), Some(kind)) = (gone, kind) {
            removed(state, &kind, key.name()).await;
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
        let gone = match &kind {
            Some(kind) => {
                let deleted =
                    delete_object(state, kind, object.key(), &DeleteOptions::default()).await;
                !matches!(deleted, Ok(Deleted::Pending(_)))
            }
            None => {
                let precondition = crate::store::Precondition::exists();
                let mutation = crate::store::Mutation::delete(object.key().clone(), precondition);
                state.store.write(mutation).await.is_ok()
            }
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
