//! The lease of a flow: one runner at a time plans and starts attempts.
//!
//! Correctness does not depend on it. It keeps two runners from adopting each other's attempts forever.

use jiff::Timestamp;

use super::{Identity, Outcome, Plan, current_run};
use crate::state::later;
use crate::{Lease, Record, Records, State, Target};

/// Who holds the lease.
#[derive(Debug, Clone, Copy)]
pub(super) enum Holding<'a> {
    This(&'a Lease),
    Other(&'a Lease),
    Nobody,
}

impl<'a> Holding<'a> {
    pub(super) fn of(records: &'a Records, runner: &Identity, now: Timestamp) -> Self {
        let record = records.get(&Target::Cluster);
        match record.and_then(|record| record.lease.as_ref()) {
            Some(lease) if lease.holder == runner.holder => Self::This(lease),
            Some(lease) if lease.expires > now && !runner.is_exclusive => Self::Other(lease),
            _ => Self::Nobody,
        }
    }
}

/// Acquires the lease before anything else is stored, renews it while attempts run, and releases it at the end.
pub(super) fn apply(
    mut plan: Plan,
    holding: Holding<'_>,
    records: &Records,
    run: &str,
    runner: &Identity,
    now: Timestamp,
) -> Plan {
    let has_work = !plan.changed.is_empty() || !plan.actions.is_empty();
    let lease = Lease {
        holder: runner.holder.clone(),
        expires: later(now, runner.lease),
    };
    let Holding::This(held) = holding else {
        if has_work {
            let stored = records.get(&Target::Cluster);
            let mut record = stored.cloned().unwrap_or_else(|| Record::new(run));
            record.lease = Some(lease);
            plan.changed = Records::from([(Target::Cluster, record)]);
            plan.actions.clear();
            plan.outcome = Outcome::InProgress;
            plan.wake = Some(now);
        }
        return plan;
    };
    let is_active = plan.outcome == Outcome::InProgress && (has_work || has_running(records));
    let renewal = renewal_time(held, runner);
    if is_active && renewal > now {
        plan.wake = Some(plan.wake.map_or(renewal, |wake| wake.min(renewal)));
        return plan;
    }
    let renewed = is_active.then_some(lease);
    if let Some(renewed) = &renewed {
        let renewal = renewal_time(renewed, runner);
        plan.wake = Some(plan.wake.map_or(renewal, |wake| wake.min(renewal)));
    }
    set_lease(&mut plan, records, run, renewed);
    plan
}

/// When two thirds of the lease are left.
fn renewal_time(lease: &Lease, runner: &Identity) -> Timestamp {
    let rest = runner.lease.saturating_sub(runner.lease / 3);
    let rest = jiff::SignedDuration::try_from(rest).unwrap_or(jiff::SignedDuration::MAX);
    lease.expires.checked_sub(rest).unwrap_or(Timestamp::MIN)
}

fn has_running(records: &Records) -> bool {
    let mut tasks = records.values().flat_map(|record| record.tasks.values());
    tasks.any(|task| matches!(task.state, State::Running { .. }))
}

fn set_lease(plan: &mut Plan, records: &Records, run: &str, lease: Option<Lease>) {
    let changed = plan.changed.entry(Target::Cluster);
    let record = changed.or_insert_with(|| match records.get(&Target::Cluster) {
        Some(stored) => current_run(stored, run),
        None => Record::new(run),
    });
    record.lease = lease;
}
