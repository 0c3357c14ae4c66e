//! Decides what to do with one object, from its owners and dependents. Pure.

use outrigger_store::Key;

use super::graph::{FOREGROUND, ORPHAN};

/// The state of an owner reference, in the terms of the real garbage collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The owner exists.
    Solid,
    /// The owner does not exist, or has another uid.
    Dangling,
    /// The owner is being deleted in the foreground.
    WaitingForDependents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) key: Key,
    /// `blockOwnerDeletion`.
    pub(super) blocks_owner: bool,
    /// It is itself being deleted in the foreground.
    pub(super) is_waiting_for_dependents: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ObservedObject {
    pub(super) is_deleting: bool,
    /// Has the finalizer `foregroundDeletion`.
    pub(super) has_foreground: bool,
    /// Has the finalizer `orphan`.
    pub(super) has_orphan: bool,
    /// By uid.
    pub(super) owners: Vec<(Box<str>, Owner)>,
    pub(super) dependents: Vec<Dependent>,
}

/// The propagation policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// One request to the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Delete(Policy),
    /// Removes the references to these owners.
    RemoveOwners(Vec<Box<str>>),
    /// Sets `blockOwnerDeletion` to false in all references.
    Unblock,
    /// Removes the references to this object from these dependents.
    OrphanDependents(Vec<Key>),
    RemoveFinalizer(&'static str),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// Executed in order until one fails.
    pub(super) actions: Vec<Action>,
    /// Objects that must be processed again.
    pub(super) requeue: Vec<Key>,
}

impl Decision {
    fn actions(actions: impl Into<Vec<Action>>) -> Self {
        Self {
            actions: actions.into(),
            requeue: Vec::new(),
        }
    }
}

pub(super) fn decide(observed: &ObservedObject) -> Decision {
    if observed.is_deleting {
        return decide_deleting(observed);
    }
    let with = |wanted: &[Owner]| {
        let owners = observed
            .owners
            .iter()
            .filter(|(_, owner)| wanted.contains(owner));
        owners.map(|(uid, _)| uid.clone()).collect::<Vec<_>>()
    };
    if observed.owners.is_empty() {
        return Decision::default();
    }
    if !with(&[Owner::Solid]).is_empty() {
        let gone = with(&[Owner::Dangling, Owner::WaitingForDependents]);
        if gone.is_empty() {
            return Decision::default();
        }
        return Decision::actions([Action::RemoveOwners(gone)]);
    }
    if !with(&[Owner::WaitingForDependents]).is_empty() && !observed.dependents.is_empty() {
        let delete = Action::Delete(Policy::Foreground);
        // Owners and dependents that wait for each other may form a cycle.
        if observed
            .dependents
            .iter()
            .any(|dependent| dependent.is_waiting_for_dependents)
        {
            return Decision::actions([Action::Unblock, delete]);
        }
        return Decision::actions([delete]);
    }
    Decision::actions([Action::Delete(own_policy(observed))])
}

/// Continues a deletion that is in progress.
fn decide_deleting(observed: &ObservedObject) -> Decision {
    if observed.has_orphan {
        let keys = observed
            .dependents
            .iter()
            .map(|dependent| dependent.key.clone());
        let keys: Vec<Key> = keys.collect();
        let drop = Action::RemoveFinalizer(ORPHAN);
        if keys.is_empty() {
            return Decision::actions([drop]);
        }
        return Decision::actions([Action::OrphanDependents(keys), drop]);
    }
    if !observed.has_foreground {
        return Decision::default();
    }
    let mut blocking = observed
        .dependents
        .iter()
        .filter(|dependent| dependent.blocks_owner)
        .peekable();
    if blocking.peek().is_none() {
        return Decision::actions([Action::RemoveFinalizer(FOREGROUND)]);
    }
    let requeue = blocking.filter(|dependent| !dependent.is_waiting_for_dependents);
    Decision {
        actions: Vec::new(),
        requeue: requeue.map(|dependent| dependent.key.clone()).collect(),
    }
}

/// The propagation policy according to the finalizers of the object.
fn own_policy(observed: &ObservedObject) -> Policy {
    if observed.has_orphan {
        Policy::Orphan
    } else if observed.has_foreground {
        Policy::Foreground
    } else {
        Policy::Background
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use outrigger_store::Resource;

    fn key(name: &str) -> Key {
        Resource::new("", "pods").unwrap().key("n", name).unwrap()
    }

    fn owned(owners: &[Owner]) -> ObservedObject {
        let owners = owners.iter().enumerate();
        ObservedObject {
            owners: owners
                .map(|(index, owner)| (format!("u{index}").into(), *owner))
                .collect(),
            ..ObservedObject::default()
        }
    }

    fn dependent(blocks_owner: bool, is_waiting_for_dependents: bool) -> Dependent {
        Dependent {
            key: key("d"),
            blocks_owner,
            is_waiting_for_dependents,
        }
    }

    #[track_caller]
    fn check(observed: &ObservedObject, actions: &[Action]) {
        assert_eq!(decide(observed).actions, actions);
    }

    #[test]
    fn keeps_an_object_with_a_solid_owner_and_removes_dangling_references() {
        check(&owned(&[]), &[]);
        check(&owned(&[Owner::Solid]), &[]);
        let gone = Action::RemoveOwners(vec!["u1".into(), "u2".into()]);
        check(
            &owned(&[Owner::Solid, Owner::Dangling, Owner::WaitingForDependents]),
            &[gone],
        );
    }

    #[test]
    fn deletes_an_object_without_owners() {
        check(
            &owned(&[Owner::Dangling]),
            &[Action::Delete(Policy::Background)],
        );
        check(
            &owned(&[Owner::Dangling, Owner::WaitingForDependents]),
            &[Action::Delete(Policy::Background)],
        );
        let observed = ObservedObject {
            has_orphan: true,
            ..owned(&[Owner::Dangling])
        };
        check(&observed, &[Action::Delete(Policy::Orphan)]);
        let observed = ObservedObject {
            has_foreground: true,
            ..owned(&[Owner::Dangling])
        };
        check(&observed, &[Action::Delete(Policy::Foreground)]);
    }

    #[test]
    fn deletes_in_the_foreground_if_the_owner_waits() {
        let mut observed = owned(&[Owner::WaitingForDependents]);
        observed.dependents = vec![dependent(true, false)];
        check(&observed, &[Action::Delete(Policy::Foreground)]);
        observed.dependents = vec![dependent(true, true)];
        check(
            &observed,
            &[Action::Unblock, Action::Delete(Policy::Foreground)],
        );
    }

    #[test]
    fn a_foreground_deletion_waits_for_blocking_dependents() {
        let mut observed = ObservedObject {
            is_deleting: true,
            has_foreground: true,
            ..ObservedObject::default()
        };
        check(&observed, &[Action::RemoveFinalizer(FOREGROUND)]);
        observed.dependents = vec![dependent(false, false)];
        check(&observed, &[Action::RemoveFinalizer(FOREGROUND)]);
        observed.dependents = vec![dependent(true, false)];
        let decision = decide(&observed);
        assert_eq!(
            (decision.actions, decision.requeue),
            (vec![], vec![key("d")])
        );
        observed.dependents = vec![dependent(true, true)];
        assert_eq!(decide(&observed), Decision::default());
    }

    #[test]
    fn an_orphaning_deletion_orphans_dependents_first() {
        let mut observed = ObservedObject {
            is_deleting: true,
            has_orphan: true,
            ..ObservedObject::default()
        };
        check(&observed, &[Action::RemoveFinalizer(ORPHAN)]);
        observed.dependents = vec![dependent(true, false)];
        check(
            &observed,
            &[
                Action::OrphanDependents(vec![key("d")]),
                Action::RemoveFinalizer(ORPHAN),
            ],
        );
        check(
            &ObservedObject {
                is_deleting: true,
                ..owned(&[Owner::Dangling])
            },
            &[],
        );
    }
}
