//! Controllers inside the server: they serve custom resource definitions, populate and finalize namespaces, and protect
//! volumes in use. The verbs call the hooks here before they respond.

pub(crate) mod custom_resource_definitions;
pub(crate) mod namespaces;
mod reflector;
mod resource_quotas;
mod volume_protection;

use std::sync::Arc;

use outrigger_builtin::kinds::Kind;
use outrigger_store::Object;
use tokio::sync::MutexGuard;

use crate::server::State;

/// Serializes writes of kinds whose objects depend on each other.
pub(crate) async fn lock<'s>(state: &'s State, kind: &Kind) -> Option<MutexGuard<'s, ()>> {
    custom_resource_definitions::lock(state, kind).await
}

/// Runs after a client has created an object, before the response.
pub(crate) async fn after_create(state: &Arc<State>, kind: &Kind, object: &Object) {
    namespaces::after_create(state, kind, object).await;
}

/// Runs after an object was created or updated, before the response.
pub(crate) async fn after_write(state: &State, kind: &Kind, object: &Arc<Object>) {
    custom_resource_definitions::after_write(state, kind, object).await;
}

/// Runs after `deletionTimestamp` was set.
pub(crate) fn after_deletion_began(state: &State, kind: &Kind, object: &Object) {
    custom_resource_definitions::after_deletion_began(state, kind, object);
}

/// Runs after an object was removed from the store.
pub(crate) async fn after_delete(state: &Arc<State>, kind: &Kind, name: &str) {
    custom_resource_definitions::after_delete(state, kind, name).await;
}

/// Runs until the server closes.
pub(crate) async fn run(state: Arc<State>) {
    let mut closed = state.closed.clone();
    tokio::select! {
        () = custom_resource_definitions::run(&state) => {}
        () = namespaces::run(&state) => {}
        () = resource_quotas::run(&state) => {}
        () = volume_protection::run(&state) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
}
