//! What is known of an object that is about to be decided about: itself, its owners, its dependents, all as they are
//! in the store now.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use outrigger_builtin::kinds::Kind;
use outrigger_store::{Key, Object, OwnerReference, Resource, Store};

use super::ServedKinds;
use super::decide::{Dependent, Facts, Owner};
use super::graph::{FOREGROUND, Graph, ORPHAN, has_finalizer, is_waiting};
use crate::local::Place;

/// Reads the store. Cheap to clone.
#[derive(Clone)]
pub(super) struct Observer {
    store: Store,
    kinds: ServedKinds,
    served: Arc<Mutex<Served>>,
}

/// How objects are reached, for one revision of the kinds.
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

/// What a look at an object gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is gone, or of a kind whose owners do not count.
    Nothing,
    /// An owner is of a kind that is not served. It may be some day, so nothing is done.
    Unresolved,
    Facts(Facts),
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

    /// Where the object of a key is served.
    pub(super) fn place(&self, key: &Key) -> Option<Place> {
        Some(Place::of_key(&*self.kind(key)?, key))
    }

    pub(super) fn look(&self, key: &Key, graph: &Graph) -> Seen {
        let (Some(object), Some(kind)) = (self.store.get(key), self.kind(key)) else {
            return Seen::Nothing;
        };
        if kind.deletion.without_garbage_collection {
            return Seen::Nothing;
        }
        let metadata = object.metadata();
        let mut owners = Vec::new();
        for reference in metadata.owner_references() {
            match self.owner(reference, key.namespace()) {
                Some(owner) => owners.push((reference.uid.clone(), owner)),
                // A deletion that has begun is no matter of owners.
                None if metadata.deletion_timestamp().is_some() => {}
                None => return Seen::Unresolved,
            }
        }
        let uid = metadata.uid();
        let dependents = graph
            .dependents(uid)
            .filter_map(|key| self.dependent(key, uid));
        Seen::Facts(Facts {
            is_deleting: metadata.deletion_timestamp().is_some(),
            has_foreground: has_finalizer(metadata, FOREGROUND),
            has_orphan: has_finalizer(metadata, ORPHAN),
            owners,
            dependents: dependents.collect(),
        })
    }

    /// The key of an owner, which need not be there. None if its kind is not served, or is in namespaces and the
    /// dependent is not.
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
            None => Owner::Absent,
            Some(owner) if is_waiting(owner.metadata()) => Owner::Waiting,
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
            blocks: references.any(|reference| reference.block_owner_deletion == Some(true)),
            is_waiting: is_waiting(object.metadata()),
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
