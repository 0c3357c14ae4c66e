//! Reads an object, its owners and its dependents from the store.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use outrigger_builtin::kinds::Kind;
use outrigger_store::{Key, Object, OwnerReference, Resource, Store};

use super::ServedKinds;
use super::decide::{Dependent, ObservedObject, Owner};
use super::graph::{FOREGROUND, Graph, ORPHAN, has_finalizer, is_waiting_for_dependents};
use crate::loopback::ResourcePath;

/// Reads the store. Cheap to clone.
#[derive(Clone)]
pub(super) struct Observer {
    store: Store,
    kinds: ServedKinds,
    served: Arc<Mutex<Served>>,
}

/// The served kinds by resource, for one revision of the kinds.
#[derive(Debug, Default)]
struct Served {
    revision: u64,
    kinds: HashMap<Resource, Arc<Kind>>,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Observation {
    /// The object is gone, or its kind is not garbage-collected.
    Skip,
    /// The kind of an owner is not served, but may be later.
    Unresolved,
    Object(ObservedObject),
}

impl Observer {
    pub(super) fn new(store: Store, kinds: ServedKinds) -> Self {
        Self {
            store,
            kinds,
            served: Arc::default(),
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.store.get(key)
    }

    pub(super) fn path(&self, key: &Key) -> Option<ResourcePath> {
        Some(ResourcePath::of_key(&*self.kind(key)?, key))
    }

    pub(super) fn observe(&self, key: &Key, graph: &Graph) -> Observation {
        let (Some(object), Some(kind)) = (self.store.get(key), self.kind(key)) else {
            return Observation::Skip;
        };
        if kind.deletion.without_garbage_collection {
            return Observation::Skip;
        }
        let metadata = object.metadata();
        let mut owners = Vec::new();
        for reference in metadata.owner_references() {
            match self.owner(reference, key.namespace()) {
                Some(owner) => owners.push((reference.uid.clone(), owner)),
                // A deletion in progress does not depend on owners.
                None if metadata.deletion_timestamp().is_some() => {}
                None => return Observation::Unresolved,
            }
        }
        let uid = metadata.uid();
        let dependents = graph
            .dependents(uid)
            .filter_map(|key| self.dependent(key, uid));
        Observation::Object(ObservedObject {
            is_deleting: metadata.deletion_timestamp().is_some(),
            has_foreground: has_finalizer(metadata, FOREGROUND),
            has_orphan: has_finalizer(metadata, ORPHAN),
            owners,
            dependents: dependents.collect(),
        })
    }

    /// The key of an owner, which may not exist. None if its kind is not served, or is namespaced and the dependent is
    /// not.
    pub(super) fn owner_key(&self, reference: &OwnerReference, namespace: &str) -> Option<Key> {
        let version = &*reference.api_version;
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let kinds = (self.kinds)();
        let kind = kinds.kind(group, version, &reference.kind)?;
        if kind.namespaced && namespace.is_empty() {
            return None;
        }
        let namespace = if kind.namespaced { namespace } else { "" };
        let resource = Resource::new(&kind.storage.group, &kind.plural).ok()?;
        resource.key(namespace, &reference.name).ok()
    }

    fn owner(&self, reference: &OwnerReference, namespace: &str) -> Option<Owner> {
        let key = self.owner_key(reference, namespace)?;
        let owner = self.store.get(&key);
        let owner = owner.filter(|owner| owner.metadata().uid() == &*reference.uid);
        Some(match owner {
            None => Owner::Dangling,
            Some(owner) if is_waiting_for_dependents(owner.metadata()) => {
                Owner::WaitingForDependents
            }
            Some(_) => Owner::Solid,
        })
    }

    fn dependent(&self, key: &Key, owner: &str) -> Option<Dependent> {
        let object = self.store.get(key)?;
        let references = object.metadata().owner_references().iter();
        let mut references = references
            .filter(|reference| &*reference.uid == owner)
            .peekable();
        references.peek()?;
        Some(Dependent {
            key: key.clone(),
            blocks_owner: references.any(|reference| reference.block_owner_deletion == Some(true)),
            is_waiting_for_dependents: is_waiting_for_dependents(object.metadata()),
        })
    }

    fn kind(&self, key: &Key) -> Option<Arc<Kind>> {
        let kinds = (self.kinds)();
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if served.revision != kinds.revision {
            served.revision = kinds.revision;
            let stored = kinds.stored().filter_map(|kind| {
                let resource = Resource::new(&kind.storage.group, &kind.plural).ok()?;
                Some((resource, Arc::clone(kind)))
            });
            served.kinds = stored.collect();
        }
        served.kinds.get(&key.resource()).cloned()
    }
}
