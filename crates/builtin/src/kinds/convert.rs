//! Conversion between served and stored versions.
//!
//! Versions of custom resources differ only in `apiVersion` (conversion webhooks are not called). Of the built-in kinds,
//! [`events`] are stored as `v1` and also served as `events.k8s.io/v1`, [`autoscaling`] is stored as `autoscaling/v2`
//! and also served as `v1`. Every other built-in kind has one version.

use outrigger_apimachinery::GroupVersion;
use serde_json::Value;

use super::Kind;

mod autoscaling;
mod events;

/// Converts an object to its stored version.
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

/// An Event of `events.k8s.io` with the field names of the core group.
pub fn core_event(event: &Value) -> Value {
    let mut event = event.clone();
    events::to_core(&mut event);
    event
}

/// Converts a stored object to a served version.
pub fn from_storage(kind: &Kind, object: &mut Value) {
    // A custom resource may be stored in a version that was the storage version when it was written.
    if !needed(kind) && kind.custom.is_none() {
        return;
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("events.k8s.io", "Event") => events::from_core(object),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::to_v1(object),
        _ => {}
    }
    set_version(object, kind.group_version());
}

/// Whether the stored and the served version differ.
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
