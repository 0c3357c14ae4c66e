//! Volumes that are being deleted: what protects them goes when no Pod uses them any more.

use std::sync::Arc;

use outrigger_store::watch::WatchEnd;
use outrigger_store::{Object, Precondition, Resource, Scope, Transaction};
use serde_json::Value;

use crate::server::State;
use crate::verbs::write_value;

const CLAIM: (&str, &str) = ("persistentvolumeclaims", "kubernetes.io/pvc-protection");
const VOLUME: (&str, &str) = ("persistentvolumes", "kubernetes.io/pv-protection");

/// Looks after claims and volumes for as long as the server runs.
pub(super) async fn run(state: &Arc<State>) {
    tokio::join!(watch(state, CLAIM), watch(state, VOLUME), watch_pods(state));
}

/// A claim may be free when a Pod of its namespace has gone or is done.
async fn watch_pods(state: &Arc<State>) {
    let (Ok(pods), Ok(claims)) = (Resource::new("", "pods"), Resource::new("", CLAIM.0)) else {
        return;
    };
    loop {
        let scope = Scope::resource(&pods);
        let Ok(mut watcher) = state.store.watch(scope, state.store.revision()) else {
            continue;
        };
        loop {
            let event = match watcher.next().await {
                Ok(event) => event,
                Err(WatchEnd::Overflow) => break,
                Err(WatchEnd::Closed) => return std::future::pending().await,
            };
            let Ok(scope) = Scope::namespace(&claims, event.key().namespace()) else {
                continue;
            };
            for claim in state.store.snapshot().list(&scope) {
                if claim.metadata().deletion_timestamp().is_some() {
                    release(state, claim, CLAIM.1).await;
                }
            }
        }
    }
}

async fn watch(state: &Arc<State>, (plural, finalizer): (&str, &str)) {
    let Ok(resource) = Resource::new("", plural) else {
        return;
    };
    let scope = Scope::resource(&resource);
    loop {
        let snapshot = state.store.snapshot();
        let Ok(mut watcher) = state.store.watch(scope.clone(), snapshot.revision()) else {
            continue;
        };
        for object in snapshot.list(&scope) {
            release(state, object, finalizer).await;
        }
        drop(snapshot);
        loop {
            match watcher.next().await {
                Ok(event) => release(state, event.object(), finalizer).await,
                Err(WatchEnd::Overflow) => break,
                Err(WatchEnd::Closed) => return std::future::pending().await,
            }
        }
    }
}

/// Takes the protection away from what is being deleted and used by nobody.
async fn release(state: &Arc<State>, seen: &Object, finalizer: &str) {
    let Some(object) = state.store.get(seen.key()) else {
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
    let is_free = metadata.finalizers().len() == 1;
    // Whoever was faster is seen as an event of its own.
    if is_free {
        let precondition = Precondition::revision(object.revision());
        let _ = state
            .store
            .write(Transaction::delete(object.key().clone(), precondition))
            .await;
    } else {
        let _ = write_value(state, object.key().clone(), &value, Some(&object)).await;
    }
}

/// Whether a Pod that is not done mounts a claim. Volumes are bound by name and are let go at once.
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
        let is_done = matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        );
        let volumes = pod["spec"]["volumes"].as_array();
        let mut volumes = volumes.into_iter().flatten();
        !is_done && volumes.any(|volume| volume["persistentVolumeClaim"]["claimName"] == key.name())
    })
}
