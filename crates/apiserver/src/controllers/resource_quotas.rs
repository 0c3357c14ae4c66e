//! The resource quota controller: keeps the status of quotas equal to what the objects of their namespaces use.
//!
//! Admission charges what is created; this controller notices what is changed and deleted. It measures a namespace when a
//! quota is new, and then follows the changes of objects. It watches other objects only while there are quotas.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use outrigger_admission::quota::{Change, Objects, Usage};
use outrigger_builtin::kinds::Kinds;
use outrigger_store::watch::{Event, WatchEnd, Watcher};
use outrigger_store::{Key, Object, Resource, Scope, Snapshot};
use serde_json::Value;

use crate::server::State;
use crate::verbs::write_value;

/// Runs until the server closes.
pub(super) async fn run(state: Arc<State>) {
    let Ok(quotas) = Resource::new("", "resourcequotas") else {
        return;
    };
    let all = Scope::resource(&quotas);
    loop {
        let snapshot = state.store.snapshot();
        let mut tracker = Tracker {
            state: &state,
            quotas: &quotas,
            usages: HashMap::new(),
            changed: snapshot
                .list(&all)
                .map(|quota| quota.key().namespace().to_owned())
                .collect(),
        };
        let has_quotas = !tracker.changed.is_empty();
        let scope = if has_quotas {
            Scope::everything()
        } else {
            all.clone()
        };
        let Ok(watcher) = state.store.watch(scope, snapshot.revision()) else {
            continue;
        };
        drop(snapshot);
        if tracker.run(watcher, has_quotas).await == WatchEnd::Closed {
            return std::future::pending().await;
        }
    }
}

/// What the objects of a namespace use of its quotas.
type Usages = HashMap<Key, Tracked>;

struct Tracked {
    usage: Usage,
    /// Changes up to this revision are included.
    revision: u64,
}

struct Tracker<'s> {
    state: &'s Arc<State>,
    quotas: &'s Resource,
    /// By namespace.
    usages: HashMap<String, Usages>,
    /// Namespaces whose quotas may have another status than they should.
    changed: BTreeSet<String>,
}

impl Tracker<'_> {
    /// Follows changes until the first quota is created, the last one is deleted or the watch ends.
    async fn run(&mut self, mut watcher: Watcher, has_quotas: bool) -> WatchEnd {
        let all = Scope::resource(self.quotas);
        loop {
            let snapshot = match self.catch_up(&mut watcher).await {
                Ok(snapshot) => snapshot,
                Err(end) => return end,
            };
            if snapshot.list(&all).next().is_some() != has_quotas {
                return WatchEnd::Overflow;
            }
            for namespace in std::mem::take(&mut self.changed) {
                self.sync(&snapshot, &namespace).await;
            }
            match watcher.next().await {
                Ok(event) => self.observe(&event),
                Err(end) => return end,
            }
        }
    }

    /// Takes a snapshot and observes all events up to it, so that no usage is older than the quotas in the snapshot.
    async fn catch_up(&mut self, watcher: &mut Watcher) -> Result<Snapshot, WatchEnd> {
        let snapshot = self.state.store.snapshot();
        loop {
            while let Some(event) = watcher.ready()? {
                self.observe(&event);
            }
            if watcher.progress()? >= snapshot.revision() {
                return Ok(snapshot);
            }
            tokio::task::yield_now().await;
        }
    }

    fn observe(&mut self, event: &Event) {
        let key = event.key();
        let resource = key.resource();
        if resource == *self.quotas {
            self.changed.insert(key.namespace().to_owned());
        }
        if resource.plural() == "customresourcedefinitions" {
            // Resources may appear or disappear.
            let measured = self.usages.drain().map(|(namespace, _)| namespace);
            self.changed.extend(measured);
        }
        let Some(usages) = self.usages.get_mut(key.namespace()) else {
            return;
        };
        let (group, plural) = (resource.group(), resource.plural());
        let value = |object: &Object| {
            let is_needed = Change::needs_objects(group, plural);
            let value = is_needed.then(|| serde_json::from_slice(object.bytes()).ok());
            value.flatten().unwrap_or(Value::Null)
        };
        let old = event.old().map(|old| value(old));
        let new = value(event.object());
        let change = match (event, &old) {
            (Event::Added { .. }, _) | (_, None) => Change::Added(&new),
            (Event::Modified { .. }, Some(old)) => Change::Modified { old, new: &new },
            (Event::Deleted { .. }, Some(old)) => Change::Deleted(old),
        };
        for tracked in usages.values_mut() {
            if event.revision() > tracked.revision {
                tracked.usage.update(group, plural, change);
                tracked.revision = event.revision();
                self.changed.insert(key.namespace().to_owned());
            }
        }
    }

    /// Writes the status of the quotas of a namespace where it is not current. If another write comes first, its event
    /// triggers another attempt.
    async fn sync(&mut self, snapshot: &Snapshot, namespace: &str) {
        let Ok(scope) = Scope::namespace(self.quotas, namespace) else {
            return;
        };
        let known = self.usages.remove(namespace).unwrap_or_default();
        let mut usages = Usages::new();
        let mut known = known;
        for quota in snapshot.list(&scope) {
            let Ok(mut value) = serde_json::from_slice::<Value>(quota.bytes()) else {
                continue;
            };
            let tracked = known.remove(quota.key());
            let tracked = tracked.filter(|tracked| tracked.usage.is_of(&value));
            let tracked = tracked.unwrap_or_else(|| self.measure(snapshot, &value, namespace));
            let status = tracked.usage.status(&value);
            usages.insert(quota.key().clone(), tracked);
            if let Some(status) = status {
                value["status"] = status;
                let _ = write_value(self.state, quota.key().clone(), &value, Some(quota)).await;
            }
        }
        if !usages.is_empty() {
            self.usages.insert(namespace.to_owned(), usages);
        }
    }

    fn measure(&self, snapshot: &Snapshot, quota: &Value, namespace: &str) -> Tracked {
        let objects = Namespace {
            snapshot,
            kinds: &self.state.registry.snapshot(),
            name: namespace,
        };
        Tracked {
            usage: Usage::measure(quota, &objects),
            revision: snapshot.revision(),
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
        self.snapshot.values(&scope).collect()
    }
}
