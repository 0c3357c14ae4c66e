//! Which plugin owns a release. Several plugins may name the same release, but it belongs to one of them: to the one that
//! installed it, or else to the oldest. The others are rejected until it is gone.

use std::collections::{BTreeSet, HashMap};

use crate::key::Key;
use crate::release_ref::ReleaseRef;

#[derive(Debug, Default)]
pub(crate) struct ReleaseClaims {
    claims: HashMap<ReleaseRef, Claim>,
}

#[derive(Debug, Default)]
struct Claim {
    /// Keeps the release until it withdraws, so that a plugin that sorts first cannot take over a running installation.
    owner: Option<Key>,
    claimants: BTreeSet<Key>,
}

impl ReleaseClaims {
    /// Adds a plugin that names this release.
    pub(crate) fn add(&mut self, release: ReleaseRef, key: &Key) {
        let claim = self.claims.entry(release).or_default();
        claim.claimants.insert(key.clone());
    }

    /// Removes a plugin that no longer exists or names another release.
    pub(crate) fn remove(&mut self, release: &ReleaseRef, key: &Key) {
        self.withdraw(release, key);
        if let Some(claim) = self.claims.get_mut(release) {
            claim.claimants.remove(key);
            if claim.claimants.is_empty() {
                self.claims.remove(release);
            }
        }
    }

    /// Ends the ownership of a plugin, which still names the release.
    pub(crate) fn withdraw(&mut self, release: &ReleaseRef, key: &Key) {
        if let Some(claim) = self.claims.get_mut(release)
            && claim.owner.as_ref() == Some(key)
        {
            claim.owner = None;
        }
    }

    /// Makes the claimant with the lowest rank the owner, if there is none. Claimants without a rank do not need the
    /// release.
    pub(crate) fn elect<R: Ord>(&mut self, release: &ReleaseRef, rank: impl Fn(&Key) -> Option<R>) {
        if let Some(claim) = self.claims.get_mut(release)
            && claim.owner.is_none()
        {
            let ranked = claim.claimants.iter();
            let ranked = ranked.filter_map(|key| Some((rank(key)?, key)));
            claim.owner = ranked.min().map(|(_, key)| key.clone());
        }
    }

    pub(crate) fn owner(&self, release: &ReleaseRef) -> Option<&Key> {
        self.claims.get(release)?.owner.as_ref()
    }

    /// The owner; before it is elected, all claimants.
    pub(crate) fn candidates(&self, release: &ReleaseRef) -> impl Iterator<Item = &Key> {
        let owner = self.owner(release);
        let claimants = self.claimants(release);
        owner
            .into_iter()
            .chain(claimants.filter(move |_| owner.is_none()))
    }

    pub(crate) fn claimants(&self, release: &ReleaseRef) -> impl Iterator<Item = &Key> {
        let claim = self.claims.get(release);
        claim.into_iter().flat_map(|claim| &claim.claimants)
    }
}
