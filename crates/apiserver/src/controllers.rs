//! Controllers inside the server: they serve custom resource definitions, register what is served, put flow schemas in
//! force, populate and finalize namespaces, and protect volumes in use. The verbs call the hooks here before they respond.

pub(crate) mod api_services;
pub(crate) mod custom_resource_definitions;
pub(crate) mod flow_control;
pub(crate) mod namespaces;
mod reflector;
mod resource_quotas;
mod volume_protection;

use std::sync::Arc;

use futures::future::BoxFuture;
use outrigger_builtin::kinds::Kind;
use outrigger_store::{Key, Object};
use tokio::sync::MutexGuard;

use crate::panics;
use crate::server::State;

/// Serializes writes of kinds whose objects depend on each other.
pub(crate) async fn lock<'s>(state: &'s State, kind: &Kind) -> Option<MutexGuard<'s, ()>> {
    custom_resource_definitions::lock(state, kind).await
}

/// Whether a write of the kind compiles schemas and rules, so that even a small object is expensive.
pub(crate) fn compiles(kind: &Kind) -> bool {
    custom_resource_definitions::is_definition(kind)
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

type Run = fn(Arc<State>) -> BoxFuture<'static, ()>;

/// The controllers with their names.
pub(crate) const ALL: [(&str, Run); 6] = [
    ("apiservice-registration-controller", |state| {
        Box::pin(api_services::run(state))
    }),
    ("customresourcedefinition-controller", |state| {
        Box::pin(custom_resource_definitions::run(state))
    }),
    ("flow-control-controller", |state| {
        Box::pin(flow_control::run(state))
    }),
    ("namespace-controller", |state| {
        Box::pin(namespaces::run(state))
    }),
    ("resource-quota-controller", |state| {
        Box::pin(resource_quotas::run(state))
    }),
    ("volume-protection-controller", |state| {
        Box::pin(volume_protection::run(state))
    }),
];

/// Runs the work on one object in a task of its own until the server closes, and again after a panic, so that no object
/// blocks the others.
fn spawn<F>(
    state: &Arc<State>,
    key: &Key,
    mut work: impl FnMut(Arc<State>, Key) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let (state, key) = (Arc::clone(state), key.clone());
    let closed = state.closed.clone();
    let name = key.to_string();
    let work = move || work(Arc::clone(&state), key.clone());
    tokio::spawn(panics::supervise(name, closed, work));
}
