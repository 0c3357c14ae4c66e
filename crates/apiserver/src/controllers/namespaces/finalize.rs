//! Finalizes a namespace: deletes its contents, Pods first, and reports in its conditions what remains.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_apimachinery::status::Reason;
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::strategy;
use outrigger_store::{Key, Object, Precondition, Resource, Scope, Transaction, WriteError};
use serde_json::Value;

use super::conditions;
use crate::controllers;
use crate::request::{DeleteOptions, Propagation};
use crate::server::State;
use crate::verbs::{DeleteOutcome, delete_object, write_value};

/// What remains in a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Remaining {
    /// The number of objects by resource, such as `pods.` or `deployments.apps`.
    pub(super) resources: BTreeMap<String, usize>,
    /// The number of objects by finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// Why objects could not be deleted.
    pub(super) errors: Vec<String>,
}

impl Remaining {
    fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.errors.is_empty()
    }
}

/// Spawns a task for each namespace, so that one that waits for a finalizer does not block others.
pub(super) fn spawn(state: &Arc<State>, key: &Key) {
    let is_terminating = state
        .store
        .get(key)
        .is_some_and(|object| object.metadata().deletion_timestamp().is_some());
    if is_terminating {
        controllers::spawn(state, key, |state, key| async move {
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
        let remaining = delete_contents(state, key.name()).await;
        if !remaining.is_empty() {
            let now = state.now_text();
            if conditions::set(&mut value, &remaining, &now) {
                // Its own event is the change that is waited for.
                let _ = write_value(state, key.clone(), &value, Some(&namespace)).await;
            }
            wait_for_change(state, key, revision).await;
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

/// Deletes the objects in a namespace. Others stay as long as Pods, which may use them, remain.
async fn delete_contents(state: &Arc<State>, namespace: &str) -> Remaining {
    let kinds = state.registry.snapshot();
    let mut remaining = Remaining::default();
    let is_pod = |kind: &Kind| kind.group.is_empty() && kind.plural == "pods";
    for kind in kinds.stored().filter(|kind| is_pod(kind)) {
        delete_all(state, kind, namespace, &mut remaining).await;
    }
    if !remaining.is_empty() {
        return remaining;
    }
    let others = kinds
        .stored()
        .filter(|kind| kind.namespaced && !is_pod(kind));
    for kind in others {
        delete_all(state, kind, namespace, &mut remaining).await;
    }
    remaining
}

async fn delete_all(state: &Arc<State>, kind: &Kind, namespace: &str, remaining: &mut Remaining) {
    let Ok(resource) = Resource::new(&kind.storage.group, &kind.plural) else {
        return;
    };
    let Ok(scope) = Scope::namespace(&resource, namespace) else {
        return;
    };
    let options = DeleteOptions {
        // No kubelet terminates the pods.
        grace_period: Some(0),
        // Drops the finalizer of an earlier foreground deletion: dependents are deleted here anyway.
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    for object in state.store.snapshot().list(&scope) {
        let left = match delete_object(state, kind, object.key(), &options).await {
            Ok(DeleteOutcome::Pending(_)) => true,
            Ok(DeleteOutcome::Removed(_)) => false,
            Err(status) if status.reason == Some(Reason::NotFound) => false,
            Err(status) => {
                remaining.errors.push(status.message);
                true
            }
        };
        if left {
            let name = format!("{}.{}", kind.plural, kind.group);
            count(&mut remaining.resources, name);
            for finalizer in object.metadata().finalizers() {
                count(&mut remaining.finalizers, finalizer.to_string());
            }
        }
    }
}

fn count(counts: &mut BTreeMap<String, usize>, name: String) {
    let count = counts.entry(name).or_default();
    *count = count.saturating_add(1);
}

/// Waits until something in the namespace, or the namespace itself, changes after `revision`.
async fn wait_for_change(state: &Arc<State>, namespace: &Key, revision: u64) {
    let Ok(mut watcher) = state.store.watch(Scope::everything(), revision) else {
        return;
    };
    while let Ok(event) = watcher.next().await {
        let is_inside = event.key().namespace() == namespace.name();
        if is_inside {
            return;
        }
    }
    std::future::pending::<()>().await;
}
