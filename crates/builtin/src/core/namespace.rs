//! Namespace.

use serde_json::{Map, Value};

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
