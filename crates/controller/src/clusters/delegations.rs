//! What operators report about steps that are delegated to them, by conditions.

use jiff::Timestamp;
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_cluster::Inputs;
use outrigger_flow::{Record, State, Store as _, Target, Versioned, Write, WriteError};

use super::store::StatusStore;

/// The reason of our own condition of a delegated step.
const DELEGATED: &str = "Delegated";

/// Stores the outcomes that operators reported. Returns the records as they are then, and the writes that failed.
pub(super) async fn record(
    inputs: &Inputs,
    store: &StatusStore<'_>,
    mut records: Versioned<()>,
    now: Timestamp,
) -> (Versioned<()>, Vec<(Target, WriteError)>) {
    let mut errors = Vec::new();
    for (target, ((), record)) in &mut records {
        let conditions = store.conditions(target);
        let Some(changed) = finished(inputs, record, &conditions, now) else {
            continue;
        };
        let write = Write {
            target: target.clone(),
            version: Some(()),
            record: changed.clone(),
        };
        let mut results = store.write(vec![write]).await;
        match results.pop() {
            Some(Err(error)) => errors.push((target.clone(), error)),
            _ => *record = changed,
        }
    }
    (records, errors)
}

/// The record with the outcomes of its delegated steps; `None` if there is none.
fn finished(
    inputs: &Inputs,
    record: &Record,
    conditions: &[Condition],
    now: Timestamp,
) -> Option<Record> {
    let mut changed = record.clone();
    for step in inputs.flow.steps() {
        let State::Delegated { owner, .. } = record.state(step.id).clone() else {
            continue;
        };
        let condition = conditions.iter().find(|it| it.kind == step.id);
        let Some(outcome) = condition.and_then(outcome) else {
            continue;
        };
        // A task that is not delegated any more is left as it is.
        let _ = changed.finish_delegated(step, &owner, outcome, now);
    }
    (changed != *record).then_some(changed)
}

/// What a condition says about a delegated step.
fn outcome(condition: &Condition) -> Option<Result<(), String>> {
    match condition.status {
        ConditionStatus::True => Some(Ok(())),
        ConditionStatus::False if condition.reason != DELEGATED => {
            Some(Err(condition.message.clone()))
        }
        ConditionStatus::False | ConditionStatus::Unknown => None,
    }
}
