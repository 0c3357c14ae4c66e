//! `StorageObjectInUseProtection`: claims and volumes get a finalizer, which the server removes when nothing uses them.

use outrigger_builtin::fields::object_mut;
use serde_json::{Value, json};

/// Adds a finalizer that protects an object in use.
pub(super) fn mutate(object: &mut Value, finalizer: &str) {
    let metadata = object
        .as_object_mut()
        .and_then(|object| object_mut(object, "metadata"));
    let Some(metadata) = metadata else {
        return;
    };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|present| present == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}
