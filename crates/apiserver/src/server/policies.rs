//! The admission policies of the store, compiled once for each of their versions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use outrigger_builtin::admission::{BoundPolicy, Policy};
use outrigger_store::{Key, Resource, Scope, Snapshot, Store};
use serde_json::Value;

const GROUP: &str = "admissionregistration.k8s.io";

/// The compiled policies, with the revisions that they were compiled from.
#[derive(Debug, Default)]
pub(crate) struct PolicyCache {
    compiled: Mutex<HashMap<Key, (u64, Arc<Policy>)>>,
}

impl PolicyCache {
    /// The validating policies that have bindings. Costs next to nothing if there are none.
    pub(crate) fn validating(&self, store: &Store) -> Vec<BoundPolicy> {
        let snapshot = store.snapshot();
        let bindings = list(&snapshot, "validatingadmissionpolicybindings");
        if bindings.is_empty() {
            return Vec::new();
        }
        let Ok(policies) = Resource::new(GROUP, "validatingadmissionpolicies") else {
            return Vec::new();
        };
        let scope = Scope::resource(&policies);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.retain(|key, _| snapshot.get(key).is_some());
        let mut bound = Vec::new();
        for object in snapshot.list(&scope) {
            let name = object.key().name();
            let of_policy = bindings
                .iter()
                .filter(|binding| binding["spec"]["policyName"] == name);
            let bindings: Vec<Value> = of_policy.cloned().collect();
            if bindings.is_empty() {
                continue;
            }
            let known = compiled.get(object.key());
            let known = known.filter(|(revision, _)| *revision == object.revision());
            let policy = if let Some((_, policy)) = known {
                Arc::clone(policy)
            } else {
                let value = serde_json::from_slice(object.bytes()).unwrap_or_default();
                let policy = Arc::new(Policy::compile(&value));
                let entry = (object.revision(), Arc::clone(&policy));
                compiled.insert(object.key().clone(), entry);
                policy
            };
            bound.push(BoundPolicy { policy, bindings });
        }
        bound
    }
}

fn list(snapshot: &Snapshot, plural: &str) -> Vec<Value> {
    let Ok(resource) = Resource::new(GROUP, plural) else {
        return Vec::new();
    };
    let scope = Scope::resource(&resource);
    let objects = snapshot.list(&scope);
    objects
        .filter_map(|object| serde_json::from_slice(object.bytes()).ok())
        .collect()
}
