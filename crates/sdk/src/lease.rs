//! The lease of a delegated step: which replica of an operator does it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use outrigger_api::flow_status::DelegationLease;
use serde_json::{Value, json};

use crate::object::{self, Object, waiting};

/// Whether this replica may do a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The step does not wait for an operator.
    NotDelegated,
    /// Another replica has the lease until this time.
    Held(Timestamp),
    /// Nobody has it, or we do.
    Free,
}

pub(crate) fn claim<K: Object>(object: &K, step: &str, holder: &str, now: Timestamp) -> Claim {
    if waiting(object, step).is_none() {
        return Claim::NotDelegated;
    }
    let mut leases = object.delegations().iter();
    let lease = leases.find(|lease| lease.step == step && lease.holder != holder);
    let expires = lease.and_then(|lease| lease.expires.parse::<Timestamp>().ok());
    match expires {
        Some(expires) if expires > now => Claim::Held(expires),
        _ => Claim::Free,
    }
}

/// The status patch that takes or renews the lease.
pub(crate) fn take<K: Object>(
    object: &K,
    step: &str,
    holder: &str,
    duration: Duration,
    now: Timestamp,
) -> Value {
    let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
    let expires = now.checked_add(duration).unwrap_or(Timestamp::MAX);
    let lease = DelegationLease {
        step: step.to_owned(),
        holder: holder.to_owned(),
        expires: expires.to_string(),
    };
    let others = others(object, step);
    let leases: Vec<DelegationLease> = others.chain([lease]).collect();
    object::patch(object, &json!({"delegations": leases}))
}

/// The status patch that lets another replica take the lease; `None` if it is not ours.
pub(crate) fn release<K: Object>(object: &K, step: &str, holder: &str) -> Option<Value> {
    let is_ours = |lease: &DelegationLease| lease.step == step && lease.holder == holder;
    if !object.delegations().iter().any(is_ours) {
        return None;
    }
    let leases: Vec<DelegationLease> = others(object, step).collect();
    Some(object::patch(object, &json!({"delegations": leases})))
}

fn others<'a, K: Object>(
    object: &'a K,
    step: &'a str,
) -> impl Iterator<Item = DelegationLease> + use<'a, K> {
    let leases = object.delegations().iter();
    leases.filter(move |lease| lease.step != step).cloned()
}

#[cfg(test)]
mod tests {
    use outrigger_api::cluster::Cluster;

    use super::*;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn cluster(status: &str, holder: &str, expires: &str) -> Cluster {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
            "metadata": {"name": "a", "resourceVersion": "7", "uid": "u"}, "spec": {},
            "status": {
                "flow": {"name": "Create", "run": "1", "tasks": [
                    {"step": "EnsureCilium", "state": "Delegated", "since": NOW, "owner": "me"},
                ]},
                "conditions": [{
                    "type": "EnsureCilium", "status": status, "reason": "Delegated", "lastTransitionTime": NOW,
                }],
                "delegations": [
                    {"step": "EnsureCilium", "holder": holder, "expires": expires},
                    {"step": "EnsureGalaxy", "holder": "x", "expires": expires},
                ],
            },
        }))
        .unwrap()
    }

    fn claim_of(cluster: &Cluster) -> Claim {
        claim(cluster, "EnsureCilium", "me", NOW.parse().unwrap())
    }

    #[test]
    fn a_lease_of_another_replica_is_respected_until_it_expires() {
        let later = "2026-01-01T00:00:01Z";
        assert_eq!(
            claim_of(&cluster("Unknown", "other", later)),
            Claim::Held(later.parse().unwrap())
        );
        assert_eq!(claim_of(&cluster("Unknown", "other", NOW)), Claim::Free);
        assert_eq!(claim_of(&cluster("Unknown", "me", later)), Claim::Free);
    }

    #[test]
    fn a_step_that_was_reported_is_not_done_again() {
        assert_eq!(claim_of(&cluster("True", "me", NOW)), Claim::NotDelegated);
    }

    #[test]
    fn leases_of_other_steps_are_kept_and_writes_name_the_version() {
        let cluster = cluster("Unknown", "other", NOW);
        let now = NOW.parse().unwrap();
        let taken = take(&cluster, "EnsureCilium", "me", Duration::from_secs(30), now);
        assert_eq!(taken["metadata"]["resourceVersion"], "7");
        let leases = taken["status"]["delegations"].as_array().unwrap();
        assert_eq!(leases[0]["step"], "EnsureGalaxy");
        assert_eq!(leases[1]["expires"], "2026-01-01T00:00:30Z");
        assert_eq!(release(&cluster, "EnsureCilium", "me"), None);
        let released = release(&cluster, "EnsureCilium", "other").unwrap();
        assert_eq!(
            released["status"]["delegations"].as_array().unwrap().len(),
            1
        );
    }
}
