//! The dependency graph of owner references.

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

/// The objects to process after an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Affected {
    pub(super) objects: Vec<Key>,
    /// Owners that have lost a dependent, with the namespace of the dependent.
    pub(super) owners: Vec<(OwnerReference, String)>,
}

/// Whether the garbage collector must process an object.
pub(super) fn is_relevant(object: &Object) -> bool {
    let metadata = object.metadata();
    !metadata.owner_references().is_empty()
        || is_waiting_for_dependents(metadata)
        || is_orphaning(metadata)
}

/// Whether a foreground deletion is in progress.
pub(super) fn is_waiting_for_dependents(metadata: &Metadata) -> bool {
    metadata.deletion_timestamp().is_some() && has_finalizer(metadata, FOREGROUND)
}

/// Whether an orphaning deletion is in progress.
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
    pub(super) fn insert(&mut self, object: &Object) {
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

    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(uid).into_iter().flatten()
    }

    pub(super) fn apply(&mut self, event: &Event) -> Affected {
        let mut affected = Affected::default();
        match event {
            Event::Added { object } => {
                self.insert(object);
                self.changed(object, &mut affected);
            }
            Event::Modified { old, object } => {
                self.insert(object);
                self.changed(object, &mut affected);
                let now = object.metadata().owner_references();
                add_lost_owners(old, |reference| !now.contains(reference), &mut affected);
            }
            Event::Deleted { old, .. } => {
                self.remove(old.key());
                affected
                    .objects
                    .extend(self.dependents(old.metadata().uid()).cloned());
                add_lost_owners(old, |_| true, &mut affected);
            }
        }
        affected
    }

    fn changed(&self, object: &Object, affected: &mut Affected) {
        if is_relevant(object) {
            affected.objects.push(object.key().clone());
        }
        if is_waiting_for_dependents(object.metadata()) {
            affected
                .objects
                .extend(self.dependents(object.metadata().uid()).cloned());
        }
    }
}

fn add_lost_owners(
    old: &Object,
    is_lost: impl Fn(&OwnerReference) -> bool,
    affected: &mut Affected,
) {
    let references = old.metadata().owner_references().iter();
    let namespace = old.key().namespace();
    let lost = references.filter(|reference| is_lost(reference));
    affected
        .owners
        .extend(lost.map(|reference| (reference.clone(), namespace.to_owned())));
}
