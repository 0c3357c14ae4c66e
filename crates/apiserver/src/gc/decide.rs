//! What to do with one object, from what is known of it, its owners and its dependents. Pure.

use outrigger_store::Key;

use super::graph::{FOREGROUND, ORPHAN};

/// How it is with an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is there.
    Solid,
    /// It is not there, or there is another of that name.
    Absent,
    /// It is to go after its dependents.
    Waiting,
}

/// An object that names this one as an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) key: Key,
    /// The owner must not go before it.
    pub(super) blocks: bool,
    /// It waits for dependents of its own.
    pub(super) is_waiting: bool,
}

/// What is known of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) is_deleting: bool,
    /// It has the finalizer of a deletion in the foreground.
    pub(super) has_foreground: bool,
    /// It has the finalizer of a deletion that leaves dependents behind.
    pub(super) has_orphan: bool,
    /// By uid.
    pub(super) owners: Vec<(Box<str>, Owner)>,
    pub(super) dependents: Vec<Dependent>,
}

/// How dependents of a deleted object fare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// One step, through the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Delete(Policy),
    /// Takes references to these owners out of the object.
    DropOwners(Vec<Box<str>>),
    /// Makes no reference of the object block its owner.
    Unblock,
    /// Takes the reference to this object out of these.
    Release(Vec<Key>),
    DropFinalizer(&'static str),
}

/// What to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// In order; what fails ends it.
    pub(super) actions: Vec<Action>,
    /// Objects that must be decided about for this one to get on.
    pub(super) look_at: Vec<Key>,
}

impl Decision {
    fn to(actions: impl Into<Vec<Action>>) -> Self {
        Self {
            actions: actions.into(),
            look_at: Vec::new(),
        }
    }
}

pub(super) fn decide(facts: &Facts) -> Decision {
    if facts.is_deleting {
        return decide_deleting(facts);
    }
    let with = |wanted: &[Owner]| {
        let owners = facts
            .owners
            .iter()
            .filter(|(_, owner)| wanted.contains(owner));
        owners.map(|(uid, _)| uid.clone()).collect::<Vec<_>>()
    };
    if facts.owners.is_empty() {
        return Decision::default();
    }
    if !with(&[Owner::Solid]).is_empty() {
        let gone = with(&[Owner::Absent, Owner::Waiting]);
        if gone.is_empty() {
            return Decision::default();
        }
        return Decision::to([Action::DropOwners(gone)]);
    }
    if !with(&[Owner::Waiting]).is_empty() && !facts.dependents.is_empty() {
        let delete = Action::Delete(Policy::Foreground);
        // Owners and dependents that wait may be a circle, which would never end.
        if facts
            .dependents
            .iter()
            .any(|dependent| dependent.is_waiting)
        {
            return Decision::to([Action::Unblock, delete]);
        }
        return Decision::to([delete]);
    }
    Decision::to([Action::Delete(own_policy(facts))])
}

/// A deletion has begun: it is only helped along.
fn decide_deleting(facts: &Facts) -> Decision {
    if facts.has_orphan {
        let keys = facts
            .dependents
            .iter()
            .map(|dependent| dependent.key.clone());
        let keys: Vec<Key> = keys.collect();
        let drop = Action::DropFinalizer(ORPHAN);
        if keys.is_empty() {
            return Decision::to([drop]);
        }
        return Decision::to([Action::Release(keys), drop]);
    }
    if !facts.has_foreground {
        return Decision::default();
    }
    let mut blocking = facts
        .dependents
        .iter()
        .filter(|dependent| dependent.blocks)
        .peekable();
    if blocking.peek().is_none() {
        return Decision::to([Action::DropFinalizer(FOREGROUND)]);
    }
    let look_at = blocking.filter(|dependent| !dependent.is_waiting);
    Decision {
        actions: Vec::new(),
        look_at: look_at.map(|dependent| dependent.key.clone()).collect(),
    }
}

/// What the finalizers ask for that somebody has put on the object.
fn own_policy(facts: &Facts) -> Policy {
    if facts.has_orphan {
        Policy::Orphan
    } else if facts.has_foreground {
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

    fn owned(owners: &[Owner]) -> Facts {
        let owners = owners.iter().enumerate();
        Facts {
            owners: owners
                .map(|(index, owner)| (format!("u{index}").into(), *owner))
                .collect(),
            ..Facts::default()
        }
    }

    fn dependent(blocks: bool, is_waiting: bool) -> Dependent {
        Dependent {
            key: key("d"),
            blocks,
            is_waiting,
        }
    }

    #[track_caller]
    fn check(facts: &Facts, actions: &[Action]) {
        assert_eq!(decide(facts).actions, actions);
    }

    #[test]
    fn what_has_an_owner_stays_and_forgets_the_others() {
        check(&owned(&[]), &[]);
        check(&owned(&[Owner::Solid]), &[]);
        let gone = Action::DropOwners(vec!["u1".into(), "u2".into()]);
        check(
            &owned(&[Owner::Solid, Owner::Absent, Owner::Waiting]),
            &[gone],
        );
    }

    #[test]
    fn what_has_no_owner_goes() {
        check(
            &owned(&[Owner::Absent]),
            &[Action::Delete(Policy::Background)],
        );
        check(
            &owned(&[Owner::Absent, Owner::Waiting]),
            &[Action::Delete(Policy::Background)],
        );
        let facts = Facts {
            has_orphan: true,
            ..owned(&[Owner::Absent])
        };
        check(&facts, &[Action::Delete(Policy::Orphan)]);
        let facts = Facts {
            has_foreground: true,
            ..owned(&[Owner::Absent])
        };
        check(&facts, &[Action::Delete(Policy::Foreground)]);
    }

    #[test]
    fn what_has_dependents_goes_after_them_if_its_owner_waits() {
        let mut facts = owned(&[Owner::Waiting]);
        facts.dependents = vec![dependent(true, false)];
        check(&facts, &[Action::Delete(Policy::Foreground)]);
        facts.dependents = vec![dependent(true, true)];
        check(
            &facts,
            &[Action::Unblock, Action::Delete(Policy::Foreground)],
        );
    }

    #[test]
    fn a_deletion_in_the_foreground_waits_for_those_that_block() {
        let mut facts = Facts {
            is_deleting: true,
            has_foreground: true,
            ..Facts::default()
        };
        check(&facts, &[Action::DropFinalizer(FOREGROUND)]);
        facts.dependents = vec![dependent(false, false)];
        check(&facts, &[Action::DropFinalizer(FOREGROUND)]);
        facts.dependents = vec![dependent(true, false)];
        let decision = decide(&facts);
        assert_eq!(
            (decision.actions, decision.look_at),
            (vec![], vec![key("d")])
        );
        facts.dependents = vec![dependent(true, true)];
        assert_eq!(decide(&facts), Decision::default());
    }

    #[test]
    fn an_orphaning_deletion_releases_first() {
        let mut facts = Facts {
            is_deleting: true,
            has_orphan: true,
            ..Facts::default()
        };
        check(&facts, &[Action::DropFinalizer(ORPHAN)]);
        facts.dependents = vec![dependent(true, false)];
        check(
            &facts,
            &[
                Action::Release(vec![key("d")]),
                Action::DropFinalizer(ORPHAN),
            ],
        );
        check(
            &Facts {
                is_deleting: true,
                ..owned(&[Owner::Absent])
            },
            &[],
        );
    }
}
