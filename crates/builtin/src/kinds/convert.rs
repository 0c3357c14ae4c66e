//! From the version that a client speaks to the version that is stored, and back.
//!
//! Custom resources differ in the name of the version alone (conversion webhooks are not run). Of the built-in
//! kinds two are served in two versions: [`events`] are stored as `v1` and served as `events.k8s.io/v1` too,
//! [`autoscaling`] is stored as `autoscaling/v2` and served as `v1` too. Every other built-in kind has one version.

use outrigger_apimachinery::GroupVersion;
use serde_json::Value;

use super::Kind;

mod autoscaling;
mod events;

/// Turns an object that came from a client into its stored form.
pub fn to_storage(kind: &Kind, object: &mut Value) {
    if !needed(kind) {
        return;
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("events.k8s.io", "Event") => events::to_core(object),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::to_v2(object),
        _ => {}
    }
    let stored = GroupVersion::new(&kind.storage.group, &kind.storage.version);
    set_version(object, stored);
}

/// An event of the newer group with the field names of the core group.
pub fn core_event(event: &Value) -> Value {
    let mut event = event.clone();
    events::to_core(&mut event);
    event
}

/// Turns a stored object into the form that is served under a kind.
pub fn from_storage(kind: &Kind, object: &mut Value) {
    if !needed(kind) {
        return;
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("events.k8s.io", "Event") => events::from_core(object),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::to_v1(object),
        _ => {}
    }
    set_version(object, kind.group_version());
}

/// Whether stored and served form differ at all.
pub fn needed(kind: &Kind) -> bool {
    kind.group != kind.storage.group || kind.version != kind.storage.version
}

fn set_version(object: &mut Value, version: GroupVersion<'_>) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".to_owned(), version.to_string().into());
    }
}

#[cfg(test)]
mod tests;
