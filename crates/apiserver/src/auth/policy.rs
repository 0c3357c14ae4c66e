//! Keeps the RBAC index consistent with the store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use outrigger_store::watch::{Event, Watcher};
use outrigger_store::{Key, Object, Resource, Scope, Snapshot, Store};
use serde_json::Value;

use super::index::Index;

const GROUP: &str = "rbac.authorization.k8s.io";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RbacKind {
    Roles,
    Bindings,
}

const RESOURCES: [(&str, RbacKind); 4] = [
    ("clusterroles", RbacKind::Roles),
    ("roles", RbacKind::Roles),
    ("clusterrolebindings", RbacKind::Bindings),
    ("rolebindings", RbacKind::Bindings),
];

/// Roles and bindings of a store.
#[derive(Debug)]
pub(super) struct Policy {
    store: Store,
    index: RwLock<Index>,
    /// The index has all changes up to this revision.
    revision: AtomicU64,
    watchers: Mutex<Vec<(Watcher, RbacKind)>>,
}

impl Policy {
    pub(super) fn new(store: Store) -> Self {
        let policy = Self {
            store,
            index: RwLock::default(),
            revision: AtomicU64::new(0),
            watchers: Mutex::default(),
        };
        policy.refresh();
        policy
    }

    /// The index at the current revision of the store.
    pub(super) fn current(&self) -> RwLockReadGuard<'_, Index> {
        if self.store.revision() != self.revision.load(Ordering::Acquire) {
            self.refresh();
        }
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn refresh(&self) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.store.revision();
        if watchers.is_empty() || !self.apply_events(&mut watchers) {
            *watchers = self.list_and_watch();
        }
        self.revision.store(revision, Ordering::Release);
    }

    /// Applies new events. False if a watcher fell behind.
    fn apply_events(&self, watchers: &mut [(Watcher, RbacKind)]) -> bool {
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

    fn list_and_watch(&self) -> Vec<(Watcher, RbacKind)> {
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
            // List again next time.
            watchers.clear();
        }
        watchers
    }
}

fn read(index: &mut Index, part: RbacKind, snapshot: &Snapshot, scope: &Scope) {
    for object in snapshot.list(scope) {
        insert(index, part, object);
    }
}

fn apply(index: &mut Index, part: RbacKind, event: &Event) {
    match event {
        Event::Added { object } | Event::Modified { object, .. } => insert(index, part, object),
        Event::Deleted { object, .. } => remove(index, part, object.key()),
    }
}

fn insert(index: &mut Index, part: RbacKind, object: &Object) {
    // A role that does not parse allows nothing.
    let value: Value = serde_json::from_slice(object.bytes()).unwrap_or_default();
    let (namespace, name) = (object.key().namespace(), object.key().name());
    match part {
        RbacKind::Roles => index.insert_role(namespace, name, &value),
        RbacKind::Bindings => index.insert_binding(namespace, name, &value),
    }
}

fn remove(index: &mut Index, part: RbacKind, key: &Key) {
    match part {
        RbacKind::Roles => index.remove_role(key.namespace(), key.name()),
        RbacKind::Bindings => index.remove_binding(key.namespace(), key.name()),
    }
}
