//! The index of roles and bindings beside the store: up to date with every write that is visible.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use outrigger_store::watch::{Event, Watcher};
use outrigger_store::{Key, Object, Resource, Scope, Snapshot, Store};
use serde_json::Value;

use super::index::Index;

const GROUP: &str = "rbac.authorization.k8s.io";

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Roles,
    Bindings,
}

const RESOURCES: [(&str, Part); 4] = [
    ("clusterroles", Part::Roles),
    ("roles", Part::Roles),
    ("clusterrolebindings", Part::Bindings),
    ("rolebindings", Part::Bindings),
];

/// Roles and bindings of a store.
#[derive(Debug)]
pub(super) struct Policy {
    store: Store,
    index: RwLock<Index>,
    /// The index is right for this revision of the store and, unless something was missed, for later ones.
    seen: AtomicU64,
    watchers: Mutex<Vec<(Watcher, Part)>>,
}

impl Policy {
    pub(super) fn new(store: Store) -> Self {
        let policy = Self {
            store,
            index: RwLock::default(),
            seen: AtomicU64::new(0),
            watchers: Mutex::default(),
        };
        policy.refresh();
        policy
    }

    /// The index with all writes that are visible now.
    pub(super) fn current(&self) -> RwLockReadGuard<'_, Index> {
        if self.store.revision() != self.seen.load(Ordering::Acquire) {
            self.refresh();
        }
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn refresh(&self) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.store.revision();
        if watchers.is_empty() || !self.follow(&mut watchers) {
            *watchers = self.read_all();
        }
        self.seen.store(revision, Ordering::Release);
    }

    /// Applies what has happened. False if something was missed.
    fn follow(&self, watchers: &mut [(Watcher, Part)]) -> bool {
        for (watcher, part) in watchers {
            loop {
                match watcher.ready() {
                    Ok(Some(event)) => {
                        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
                        apply(&mut index, *part, &event);
                    }
                    Ok(None) => break,
                    Err(_) => return false,
                }
            }
        }
        true
    }

    fn read_all(&self) -> Vec<(Watcher, Part)> {
        let snapshot = self.store.snapshot();
        let mut index = Index::default();
        let mut watchers = Vec::new();
        for (plural, part) in RESOURCES {
            let Ok(resource) = Resource::new(GROUP, plural) else {
                continue;
            };
            let scope = Scope::resource(&resource);
            read(&mut index, part, &snapshot, &scope);
            if let Ok(watcher) = self.store.watch(scope, snapshot.revision()) {
                watchers.push((watcher, part));
            }
        }
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
        if watchers.len() < RESOURCES.len() {
            // Read everything again next time.
            watchers.clear();
        }
        watchers
    }
}

fn read(index: &mut Index, part: Part, snapshot: &Snapshot, scope: &Scope) {
    for object in snapshot.list(scope) {
        put(index, part, object);
    }
}

fn apply(index: &mut Index, part: Part, event: &Event) {
    match event {
        Event::Added { object } | Event::Modified { object, .. } => put(index, part, object),
        Event::Deleted { object, .. } => remove(index, part, object.key()),
    }
}

fn put(index: &mut Index, part: Part, object: &Object) {
    // What cannot be read allows nothing.
    let value: Value = serde_json::from_slice(object.bytes()).unwrap_or_default();
    let (namespace, name) = (object.key().namespace(), object.key().name());
    match part {
        Part::Roles => index.put_role(namespace, name, &value),
        Part::Bindings => index.put_binding(namespace, name, &value),
    }
}

fn remove(index: &mut Index, part: Part, key: &Key) {
    match part {
        Part::Roles => index.remove_role(key.namespace(), key.name()),
        Part::Bindings => index.remove_binding(key.namespace(), key.name()),
    }
}
