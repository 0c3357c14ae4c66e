//! Namespace: defaults and preparation.

use serde_json::{Map, Value, json};

use crate::fields::object_mut;
use crate::strategy::{Strategy, is_empty, raise_generation, remove_grace_period};

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

/// Namespaces that the admission plugin `NamespaceLifecycle` protects.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

#[derive(Debug)]
pub(crate) struct Namespace;

impl Strategy for Namespace {
    fn check_delete(&self, name: &str) -> Result<(), &'static str> {
        if IMMORTAL.contains(&name) {
            return Err("this namespace may not be deleted");
        }
        Ok(())
    }

    fn deletes_contents_first(&self) -> bool {
        true
    }

    fn begin_deletion(&self, object: &mut Value, _now: &str) {
        raise_generation(object);
        remove_grace_period(object);
        object["status"]["phase"] = "Terminating".into();
    }

    fn is_finalized(&self, object: &Value) -> bool {
        is_empty(&object["spec"]["finalizers"]) && is_empty(&object["metadata"]["finalizers"])
    }
}
