//! All contributions of one construct, by key and scope.
//!
//! The result does not depend on the order of the contributions: they are grouped by key and scope and sorted by owner
//! before they are compared.

use std::collections::{BTreeMap, BTreeSet};

use crate::conflict::{Conflict, Problem};
use crate::construct::{Construct, Sharing};
use crate::names::Owner;
use crate::scope::{Placement, Scope};

/// A thing in the model, with its owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<T> {
    /// The plugins that contribute it. Several, if they agree.
    pub owners: BTreeSet<Owner>,
    /// The machines that it is for.
    pub scope: Scope,
    /// The thing itself.
    pub value: T,
}

/// The merged contributions of one construct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged<T>(BTreeMap<String, BTreeMap<Scope, Vec<Entry<T>>>>);

impl<T> Default for Merged<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Merged<T> {
    /// All entries, sorted by key, then scope.
    pub fn entries(&self) -> impl Iterator<Item = &Entry<T>> {
        self.0.values().flat_map(BTreeMap::values).flatten()
    }

    /// The entries that machines of this kind get, sorted by key. Of entries with the same key, the one with the narrowest
    /// scope applies.
    pub fn for_placement(&self, placement: &Placement) -> impl Iterator<Item = &Entry<T>> {
        let scope = placement.scope();
        self.0.values().flat_map(move |scopes| {
            let narrowest = scope.widening().find_map(|scope| scopes.get(&scope));
            narrowest.into_iter().flatten()
        })
    }

    /// All entries that reach machines of this kind, wider scopes first, then sorted by key.
    pub fn covering(&self, placement: &Placement) -> impl Iterator<Item = &Entry<T>> {
        let mut scopes: Vec<Scope> = placement.scope().widening().collect();
        scopes.reverse();
        scopes.into_iter().flat_map(move |scope| {
            let entries = self.0.values().filter_map(move |scopes| scopes.get(&scope));
            entries.flatten()
        })
    }

    /// The entries with this key, in all scopes.
    pub fn get(&self, key: &str) -> impl Iterator<Item = &Entry<T>> {
        self.0
            .get(key)
            .into_iter()
            .flat_map(BTreeMap::values)
            .flatten()
    }

    /// The entry with this key for the whole cluster.
    pub fn in_cluster(&self, key: &str) -> Option<&T> {
        let entry = self.0.get(key)?.get(&Scope::Cluster)?.first();
        entry.map(|entry| &entry.value)
    }

    /// Whether nobody contributes any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

type Group<T> = BTreeMap<Scope, Vec<(Owner, T)>>;

impl<T: Construct> Merged<T> {
    pub(crate) fn collect(
        contributions: Vec<(Owner, Scope, T)>,
        conflicts: &mut Vec<Conflict>,
    ) -> Self {
        let mut groups: BTreeMap<String, Group<T>> = BTreeMap::new();
        for (owner, scope, construct) in contributions {
            for part in construct.parts() {
                if let Err(reason) = part.check(&scope) {
                    let problem = Problem::Invalid(reason);
                    conflicts.push(conflict::<T>(&part.key(), &owner, &scope, problem));
                }
                let group = groups.entry(part.key()).or_default();
                group
                    .entry(scope.clone())
                    .or_default()
                    .push((owner.clone(), part));
            }
        }
        let merged = groups.into_iter().map(|(key, mut group)| {
            for contributions in group.values_mut() {
                sort(contributions);
            }
            conflicts.extend(conflicts_within(&key, &group));
            (key, group.into_iter().map(entries_of).collect())
        });
        Self(merged.collect())
    }
}

/// Sorts by owner, then by value.
fn sort<T: Construct>(contributions: &mut [(Owner, T)]) {
    if contributions.len() > 1 {
        let text = |value: &T| serde_json::to_string(value).unwrap_or_default();
        contributions.sort_by_cached_key(|(owner, value)| (owner.clone(), text(value)));
    }
}

fn conflict<T: Construct>(key: &str, owner: &Owner, scope: &Scope, problem: Problem) -> Conflict {
    Conflict {
        kind: T::KIND,
        key: key.to_owned(),
        owner: owner.clone(),
        scope: scope.clone(),
        problem,
    }
}

/// The conflicts among contributions with the same key. Each contribution is compared with the first one of its own scope
/// and of each wider scope, so that their number is linear.
fn conflicts_within<T: Construct>(key: &str, group: &Group<T>) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    for (scope, contributions) in group {
        for (position, (owner, value)) in contributions.iter().enumerate() {
            let others = scope.widening().flat_map(|wider| {
                let is_same = wider == *scope;
                let others = group.get(&wider).map_or(&[][..], Vec::as_slice);
                let others = if is_same { &others[..position] } else { others };
                others
                    .iter()
                    .map(move |other| (wider.clone(), is_same, other))
            });
            for (other_scope, is_same, (other, other_value)) in others {
                // A plugin may override itself in a narrower scope.
                let overrides = !is_same && owner == other;
                if !overrides && excludes(value, other_value) {
                    conflicts.push(claimed::<T>(key, (owner, scope), (other, &other_scope)));
                    break;
                }
            }
        }
    }
    conflicts
}

fn excludes<T: Construct>(one: &T, other: &T) -> bool {
    match T::SHARING {
        Sharing::Exclusive => true,
        Sharing::WhenEqual => one != other,
        Sharing::Compatible => one.excludes(other),
    }
}

fn claimed<T: Construct>(key: &str, one: (&Owner, &Scope), other: (&Owner, &Scope)) -> Conflict {
    let (first, second) = if one <= other {
        (one, other)
    } else {
        (other, one)
    };
    let problem = Problem::Claimed {
        other: second.0.clone(),
        scope: second.1.clone(),
    };
    conflict::<T>(key, first.0, first.1, problem)
}

/// One entry for each distinct value.
fn entries_of<T: Construct>(
    (scope, contributions): (Scope, Vec<(Owner, T)>),
) -> (Scope, Vec<Entry<T>>) {
    let mut entries: Vec<Entry<T>> = Vec::new();
    for (owner, value) in contributions {
        match entries.iter_mut().find(|entry| entry.value == value) {
            Some(entry) => {
                entry.owners.insert(owner);
            }
            None => entries.push(Entry {
                owners: BTreeSet::from([owner]),
                scope: scope.clone(),
                value,
            }),
        }
    }
    (scope, entries)
}
