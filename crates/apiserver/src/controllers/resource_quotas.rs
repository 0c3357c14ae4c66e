//! The resource quota controller: computes what the objects of a namespace use of its quotas.
//!
//! Admission charges what is created; this controller measures new quotas, and what is changed and deleted. It watches
//! other objects only while there are quotas.

use std::collections::BTreeSet;
use std::sync::Arc;

use outrigger_builtin::kinds::Kinds;
use outrigger_builtin::quota::{self, Objects};
use outrigger_store::watch::{Event, WatchEnd, Watcher};
use outrigger_store::{Resource, Scope, Snapshot};
use serde_json::Value;

use crate::server::State;
use crate::verbs::write_value;

/// Resources of which not only the number of objects is limited.
const MEASURED: [&str; 4] = [
    "pods",
    "services",
    "persistentvolumeclaims",
    "resourcequotas",
];

/// Runs until the server closes.
pub(super) async fn run(state: Arc<State>) {
    let Ok(quotas) = Resource::new("", "resourcequotas") else {
        return;
    };
    let all = Scope::resource(&quotas);
    loop {
        let snapshot = state.store.snapshot();
        let namespaces: BTreeSet<String> = snapshot
            .list(&all)
            .map(|quota| quota.key().namespace().to_owned())
            .collect();
        let scope = if namespaces.is_empty() {
            all.clone()
        } else {
            Scope::everything()
        };
        let Ok(watcher) = state.store.watch(scope, snapshot.revision()) else {
            continue;
        };
        for namespace in &namespaces {
            sync(&state, &quotas, namespace).await;
        }
        if watch(&state, &quotas, watcher, !namespaces.is_empty()).await == WatchEnd::Closed {
            return std::future::pending().await;
        }
    }
}

/// Syncs the quotas of namespaces whose objects change, until the first quota is created, the last one is deleted or the
/// watch ends.
async fn watch(
    state: &Arc<State>,
    quotas: &Resource,
    mut watcher: Watcher,
    has_quotas: bool,
) -> WatchEnd {
    let all = Scope::resource(quotas);
    loop {
        let mut changed = BTreeSet::new();
        let mut next = match watcher.next().await {
            Ok(event) => Some(event),
            Err(end) => return end,
        };
        while let Some(event) = next {
            if is_measured(&event) {
                changed.insert(event.key().namespace().to_owned());
            }
            next = match watcher.ready() {
                Ok(event) => event,
                Err(end) => return end,
            };
        }
        if state.store.snapshot().list(&all).next().is_some() != has_quotas {
            return WatchEnd::Overflow;
        }
        for namespace in changed {
            sync(state, quotas, &namespace).await;
        }
    }
}

/// Whether an event changes what a namespace uses.
fn is_measured(event: &Event) -> bool {
    let resource = event.key().resource();
    let is_counted_only = || !resource.group().is_empty() || !MEASURED.contains(&resource.plural());
    let is_modified = matches!(event, Event::Modified { .. });
    let is_unaffected = is_modified && is_counted_only();
    !event.key().namespace().is_empty() && !is_unaffected
}

/// Writes the status of the quotas of a namespace where it is not current. If another write comes first, its event
/// triggers another attempt.
async fn sync(state: &Arc<State>, quotas: &Resource, namespace: &str) {
    let Ok(scope) = Scope::namespace(quotas, namespace) else {
        return;
    };
    let snapshot = state.store.snapshot();
    let objects = Namespace {
        snapshot: &snapshot,
        kinds: &state.registry.snapshot(),
        name: namespace,
    };
    for quota in snapshot.list(&scope) {
        let Ok(mut value) = serde_json::from_slice::<Value>(quota.bytes()) else {
            continue;
        };
        if let Some(status) = quota::status(&value, &objects) {
            value["status"] = status;
            let _ = write_value(state, quota.key().clone(), &value, Some(quota)).await;
        }
    }
}

/// The stored objects of a namespace.
struct Namespace<'a> {
    snapshot: &'a Snapshot,
    kinds: &'a Kinds,
    name: &'a str,
}

impl Namespace<'_> {
    fn scope(&self, group: &str, plural: &str) -> Option<Scope> {
        let resource = Resource::new(group, plural).ok()?;
        Scope::namespace(&resource, self.name).ok()
    }
}

impl Objects for Namespace<'_> {
    fn resources(&self) -> Vec<(String, String)> {
        let kinds = self.kinds.stored().filter(|kind| kind.namespaced);
        kinds
            .map(|kind| (kind.storage.group.clone(), kind.plural.clone()))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    fn count(&self, group: &str, plural: &str) -> usize {
        let scope = self.scope(group, plural);
        scope.map_or(0, |scope| self.snapshot.list(&scope).count())
    }

    fn list(&self, group: &str, plural: &str) -> Vec<Value> {
        let Some(scope) = self.scope(group, plural) else {
            return Vec::new();
        };
        let objects = self.snapshot.list(&scope);
        objects
            .filter_map(|object| serde_json::from_slice(object.bytes()).ok())
            .collect()
    }
}
