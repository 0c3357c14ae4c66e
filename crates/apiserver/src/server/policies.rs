//! The admission policies of the store, compiled once for each of their versions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use outrigger_admission::{BoundPolicy, MutatingPolicy, ValidatingPolicy};
use outrigger_store::{Key, Scope, Store};
use serde_json::Value;

const GROUP: &str = "admissionregistration.k8s.io";

/// The compiled policies.
#[derive(Debug, Default)]
pub(crate) struct PolicyCache {
    validating: Compiled<ValidatingPolicy>,
    mutating: Compiled<MutatingPolicy>,
}

impl PolicyCache {
    /// The validating policies that have bindings. Costs next to nothing if there are none.
    pub(crate) fn validating(&self, store: &Store) -> Vec<BoundPolicy<ValidatingPolicy>> {
        let resources = (
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        );
        self.validating
            .bound(store, resources, ValidatingPolicy::compile)
    }

    /// The mutating policies that have bindings. Costs next to nothing if there are none.
    pub(crate) fn mutating(&self, store: &Store) -> Vec<BoundPolicy<MutatingPolicy>> {
        let resources = (
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        );
        self.mutating
            .bound(store, resources, MutatingPolicy::compile)
    }
}

/// Policies with the revisions that they were compiled from.
#[derive(Debug)]
struct Compiled<P>(Mutex<HashMap<Key, (u64, Arc<P>)>>);

impl<P> Default for Compiled<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P> Compiled<P> {
    /// The policies that have bindings, in the order of their names.
    fn bound(
        &self,
        store: &Store,
        (policies, bindings): (&str, &str),
        compile: impl Fn(&Value) -> P,
    ) -> Vec<BoundPolicy<P>> {
        let snapshot = store.snapshot();
        let (Ok(policies), Ok(bindings)) = (Scope::of(GROUP, policies), Scope::of(GROUP, bindings))
        else {
            return Vec::new();
        };
        let bindings: Vec<Value> = snapshot.values(&bindings).collect();
        if bindings.is_empty() {
            return Vec::new();
        }
        let mut compiled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.retain(|key, _| snapshot.get(key).is_some());
        let mut bound = Vec::new();
        for object in snapshot.list(&policies) {
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
            let policy = known.map(|(_, policy)| Arc::clone(policy));
            let policy = policy.unwrap_or_else(|| {
                let value = serde_json::from_slice(object.bytes()).unwrap_or_default();
                let policy = Arc::new(compile(&value));
                let entry = (object.revision(), Arc::clone(&policy));
                compiled.insert(object.key().clone(), entry);
                policy
            });
            bound.push(BoundPolicy { policy, bindings });
        }
        bound
    }
}
