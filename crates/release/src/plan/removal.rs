//! What becomes of objects that are no longer wanted.

use std::collections::{BTreeSet, HashSet};

use outrigger_chart::Profile;
use outrigger_chart::manifest::kind_order::KindOrder;

use super::{Change, Step, is_going};
use crate::id::{Key, ObjectId, ReleaseId};
use crate::observe::Observed;
use crate::ownership;

/// All objects that records name, that are there, and that are not wanted.
pub(super) fn steps(observed: &Observed, wanted: &HashSet<Key>, release: &ReleaseId) -> Vec<Step> {
    let mut seen = BTreeSet::new();
    let mut steps = Vec::new();
    for object in observed.recorded.iter().flatten() {
        let key = object.id().key();
        if !wanted.contains(&key) && seen.insert(key.clone()) {
            steps.extend(step(object.id(), &key, observed, release));
        }
    }
    let order = KindOrder::uninstall(Profile::Helm4);
    steps.sort_by(|a, b| order.compare(&a.object.kind, &b.object.kind));
    steps
}

fn step(id: &ObjectId, key: &Key, observed: &Observed, release: &ReleaseId) -> Option<Step> {
    let live = observed.live.get(key)?;
    let step = |change, reason| {
        Some(Step {
            object: id.clone(),
            change,
            fields: Vec::new(),
            reason,
        })
    };
    if is_going(live) {
        return None;
    }
    if ownership::is_kept(live) {
        return step(Change::Keep, Some("its resource policy is keep".to_owned()));
    }
    if let Some(owner) = ownership::other_owner(live, release) {
        return step(Change::Keep, Some(format!("it belongs to release {owner}")));
    }
    // An attempt may name an object that it never got to make.
    if !observed.is_deployed(key) && ownership::check(live, release).is_err() {
        return None;
    }
    step(Change::Prune, None)
}
