//! Prune steps for objects that are no longer desired.

use std::collections::{BTreeSet, HashSet};

use outrigger_chart::Profile;
use outrigger_chart::manifest::kind_order::KindOrder;

use super::{Change, Step, is_terminating};
use crate::id::{ObjectId, ObjectKey, ReleaseId};
use crate::observe::Observed;
use crate::ownership::{Removal, removal};

/// Steps for all live objects in the records of the history that are not desired.
pub(super) fn steps(
    observed: &Observed,
    desired: &HashSet<ObjectKey>,
    release: &ReleaseId,
) -> Vec<Step> {
    let mut done = BTreeSet::new();
    let mut steps = Vec::new();
    for object in observed.recorded.iter().flatten() {
        let key = object.id().key();
        if !desired.contains(&key) && done.insert(key.clone()) {
            steps.extend(step(object.id(), &key, observed, release));
        }
    }
    let order = KindOrder::uninstall(Profile::Helm4);
    steps.sort_by(|a, b| order.compare(&a.object.kind, &b.object.kind));
    steps
}

fn step(id: &ObjectId, key: &ObjectKey, observed: &Observed, release: &ReleaseId) -> Option<Step> {
    let live = observed
        .live
        .get(key)
        .filter(|live| !is_terminating(live))?;
    let (change, reason) = match removal(live, release, observed.is_deployed(key)) {
        Removal::Delete => (Change::Prune, None),
        Removal::Keep(reason) => (Change::Keep, Some(reason)),
        Removal::Ignore => return None,
    };
    Some(Step {
        object: id.clone(),
        change,
        fields: Vec::new(),
        reason,
    })
}
