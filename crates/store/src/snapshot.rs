//! All live objects at one revision. Snapshots are immutable, cheap to take and never block the writer.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::collection::Collection;
use super::key::{Key, Resource};
use super::object::Object;
use super::scope::Scope;
use crate::watch::Event;

/// All objects at one revision. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Snapshot {
    state: Arc<State>,
}

impl Snapshot {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self { state }
    }

    pub fn revision(&self) -> u64 {
        self.state.revision
    }

    pub fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.state.get(key)
    }

    /// The objects of `scope` in key order.
    pub fn list<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.list_after(scope, None)
    }

    /// The objects of `scope` in key order that follow the key `after`: the next page of a list.
    pub fn list_after<'a>(
        &'a self,
        scope: &'a Scope,
        after: Option<&'a Key>,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.state
            .collections(scope)
            .flat_map(move |collection| collection.range(scope.prefix(), after))
            .filter(|object| scope.contains(object.key()))
    }

    /// The parsed objects of `scope` in key order.
    pub fn values<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = Value> + use<'a> {
        // Stored objects always parse, unless an older version stored one that is nested too deep.
        self.list(scope)
            .filter_map(|object| serde_json::from_slice(object.bytes()).ok())
    }

    /// The resources that have objects.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.state.collections.keys()
    }
}

/// The objects behind snapshots, copied on write where a snapshot shares them.
#[derive(Debug, Clone)]
pub(super) struct State {
    revision: u64,
    /// No collection is empty.
    collections: BTreeMap<Resource, Arc<Collection>>,
}

impl State {
    pub(super) fn new(revision: u64) -> Self {
        Self {
            revision,
            collections: BTreeMap::new(),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.collections.get(key.resource_prefix())?.get(key)
    }

    pub(super) fn insert(&mut self, object: Arc<Object>) {
        let prefix = object.key().resource_prefix();
        if let Some(collection) = self.collections.get_mut(prefix) {
            Arc::make_mut(collection).insert(object);
        } else {
            let resource = object.key().resource();
            let mut collection = Collection::default();
            collection.insert(object);
            self.collections.insert(resource, Arc::new(collection));
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(collection) = self.collections.get_mut(key.resource_prefix()) {
            let collection = Arc::make_mut(collection);
            collection.remove(key);
            if collection.is_empty() {
                self.collections.remove(key.resource_prefix());
            }
        }
    }

    /// Applies one event.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Added { object } | Event::Modified { object, .. } => {
                self.insert(Arc::clone(object));
            }
            Event::Deleted { object, .. } => self.remove(object.key()),
        }
        self.revision = event.revision();
    }

    /// Undoes events, latest first, down to `revision`.
    pub(super) fn undo<'a>(&mut self, events: impl Iterator<Item = &'a Arc<Event>>, revision: u64) {
        for event in events {
            match &**event {
                Event::Added { object } => self.remove(object.key()),
                Event::Modified { old, .. } | Event::Deleted { old, .. } => {
                    self.insert(Arc::clone(old));
                }
            }
        }
        self.revision = revision;
    }

    fn collections<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Arc<Collection>> {
        let one = scope
            .of_resource()
            .map(|resource| self.collections.get(resource));
        let all = one.is_none().then(|| self.collections.values());
        one.flatten().into_iter().chain(all.into_iter().flatten())
    }
}
