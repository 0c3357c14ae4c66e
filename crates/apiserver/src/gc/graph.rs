//! Who depends on whom: only what owner references say, and only of objects that have some.

use std::collections::{BTreeSet, HashMap};

use outrigger_store::watch::Event;
use outrigger_store::{Key, Metadata, Object, OwnerReference};

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

/// Dependents by the uid of their owner.
#[derive(Debug, Default)]
pub(super) struct Graph {
    owners: HashMap<Key, Vec<Box<str>>>,
    dependents: HashMap<Box<str>, BTreeSet<Key>>,
}

/// What must be looked at after an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Affected {
    pub(super) objects: Vec<Key>,
    /// Owners that have lost a dependent, with the namespace of the dependent.
    pub(super) owners: Vec<(OwnerReference, String)>,
}

/// Whether there is anything to do about an object.
pub(super) fn concerns(object: &Object) -> bool {
    let metadata = object.metadata();
    !metadata.owner_references().is_empty() || is_waiting(metadata) || is_orphaning(metadata)
}

/// Whether it goes when its dependents are gone.
pub(super) fn is_waiting(metadata: &Metadata) -> bool {
    metadata.deletion_timestamp().is_some() && has_finalizer(metadata, FOREGROUND)
}

/// Whether it goes when its dependents no longer name it.
pub(super) fn is_orphaning(metadata: &Metadata) -> bool {
    metadata.deletion_timestamp().is_some() && has_finalizer(metadata, ORPHAN)
}

pub(super) fn has_finalizer(metadata: &Metadata, name: &str) -> bool {
    metadata
        .finalizers()
        .iter()
        .any(|finalizer| **finalizer == *name)
}

impl Graph {
    pub(super) fn put(&mut self, object: &Object) {
        self.remove(object.key());
        let references = object.metadata().owner_references();
        if references.is_empty() {
            return;
        }
        for reference in references {
            let dependents = self.dependents.entry(reference.uid.clone()).or_default();
            dependents.insert(object.key().clone());
        }
        let owners = references.iter().map(|reference| reference.uid.clone());
        self.owners.insert(object.key().clone(), owners.collect());
    }

    fn remove(&mut self, key: &Key) {
        for owner in self.owners.remove(key).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&owner) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
        }
    }

    /// The objects that name the owner.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// Takes note of an event.
    pub(super) fn apply(&mut self, event: &Event) -> Affected {
        let mut affected = Affected::default();
        match event {
            Event::Added { object } => {
                self.put(object);
                self.changed(object, &mut affected);
            }
            Event::Modified { old, object } => {
                self.put(object);
                self.changed(object, &mut affected);
                let now = object.metadata().owner_references();
                lost(old, |reference| !now.contains(reference), &mut affected);
            }
            Event::Deleted { old, .. } => {
                self.remove(old.key());
                affected
                    .objects
                    .extend(self.dependents(old.metadata().uid()).cloned());
                lost(old, |_| true, &mut affected);
            }
        }
        affected
    }

    fn changed(&self, object: &Object, affected: &mut Affected) {
        if concerns(object) {
            affected.objects.push(object.key().clone());
        }
        if is_waiting(object.metadata()) {
            affected
                .objects
                .extend(self.dependents(object.metadata().uid()).cloned());
        }
    }
}

fn lost(old: &Object, is_lost: impl Fn(&OwnerReference) -> bool, affected: &mut Affected) {
    let references = old.metadata().owner_references().iter();
    let namespace = old.key().namespace();
    let lost = references.filter(|reference| is_lost(reference));
    affected
        .owners
        .extend(lost.map(|reference| (reference.clone(), namespace.to_owned())));
}
