//! The strategy of Namespaces.

use serde_json::Value;

use super::{Strategy, is_empty, raise_generation, remove_grace_period};

/// Namespaces that the admission plugin `NamespaceLifecycle` protects.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

#[derive(Debug)]
pub(super) struct Namespace;

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
