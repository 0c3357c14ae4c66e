//! Storage object in use protection: removes the finalizers of claims and volumes that no Pod uses.

use std::sync::Arc;

use outrigger_store::{Key, Object, Precondition, Resource, Scope, Transaction};
use serde_json::Value;

use super::reflector::Reflector;
use crate::server::State;
use crate::verbs::write_value;

const CLAIM: (&str, &str) = ("persistentvolumeclaims", "kubernetes.io/pvc-protection");
const VOLUME: (&str, &str) = ("persistentvolumes", "kubernetes.io/pv-protection");

/// Runs until the server closes.
pub(super) async fn run(state: Arc<State>) {
    let state = &state;
    tokio::join!(watch(state, CLAIM), watch(state, VOLUME), watch_pods(state));
}

/// A change of a Pod may release the claims of its namespace.
async fn watch_pods(state: &Arc<State>) {
    let (Ok(pods), Ok(claims)) = (Resource::new("", "pods"), Resource::new("", CLAIM.0)) else {
        return;
    };
    let mut pods = Reflector::new(&state.store, &pods);
    loop {
        let pod = pods.next().await;
        let Ok(scope) = Scope::namespace(&claims, pod.key().namespace()) else {
            continue;
        };
        for claim in state.store.snapshot().list(&scope) {
            sync(state, claim, CLAIM.1);
        }
    }
}

/// Only an object that is being deleted needs work.
fn sync(state: &Arc<State>, object: &Object, finalizer: &'static str) {
    if object.metadata().deletion_timestamp().is_some() {
        super::spawn(state, object.key(), move |state, key| async move {
            release(&state, &key, finalizer).await;
        });
    }
}

async fn watch(state: &Arc<State>, (plural, finalizer): (&str, &'static str)) {
    let Ok(resource) = Resource::new("", plural) else {
        return;
    };
    let mut objects = Reflector::new(&state.store, &resource);
    loop {
        sync(state, &*objects.next().await, finalizer);
    }
}

/// Removes the finalizer of an object that is being deleted and not in use.
async fn release(state: &Arc<State>, key: &Key, finalizer: &str) {
    let Some(object) = state.store.get(key) else {
        return;
    };
    let metadata = object.metadata();
    let is_protected = metadata
        .finalizers()
        .iter()
        .any(|present| &**present == finalizer);
    if metadata.deletion_timestamp().is_none() || !is_protected || is_used(state, &object) {
        return;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(object.bytes()) else {
        return;
    };
    if let Some(finalizers) = value["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|present| present != finalizer);
    }
    let is_finalized = metadata.finalizers().len() == 1;
    // On a conflict, the event of the other write triggers another attempt.
    if is_finalized {
        let precondition = Precondition::revision(object.revision());
        let _ = state
            .store
            .write(Transaction::delete(object.key().clone(), precondition))
            .await;
    } else {
        let _ = write_value(state, object.key().clone(), &value, Some(&object)).await;
    }
}

/// Whether a Pod that has not terminated mounts a claim. Volumes are not checked.
fn is_used(state: &State, object: &Object) -> bool {
    let key = object.key();
    let pods = Resource::new("", "pods").ok();
    let scope = pods.and_then(|pods| Scope::namespace(&pods, key.namespace()).ok());
    let Some(scope) = scope.filter(|_| !key.namespace().is_empty()) else {
        return false;
    };
    let snapshot = state.store.snapshot();
    let mut pods = snapshot.list(&scope);
    pods.any(|pod| {
        let pod: Value = serde_json::from_slice(pod.bytes()).unwrap_or_default();
        let is_terminated = matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        );
        let volumes = pod["spec"]["volumes"].as_array();
        let mut volumes = volumes.into_iter().flatten();
        !is_terminated
            && volumes.any(|volume| volume["persistentVolumeClaim"]["claimName"] == key.name())
    })
}
