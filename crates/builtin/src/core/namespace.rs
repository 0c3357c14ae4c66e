//! Namespace: defaults and preparation.

use serde_json::{Map, Value, json};

use crate::fields::object_mut;

pub(crate) fn set_defaults(namespace: &mut Map<String, Value>) {
    let Some(metadata) = object_mut(namespace, "metadata") else {
        return;
    };
    if let Some(name) = metadata.get("name").cloned()
        && let Some(labels) = object_mut(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

pub(crate) fn add_finalizer(namespace: &mut Map<String, Value>) {
    let Some(spec) = object_mut(namespace, "spec") else {
        return;
    };
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == "kubernetes")
    {
        finalizers.push("kubernetes".into());
    }
}
