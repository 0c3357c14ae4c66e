//! Converts records of flows from and to the status of objects.

use jiff::Timestamp;
use outrigger_api::flow_status::{FlowLease, FlowStatus, TaskState, TaskStatus};
use outrigger_api::step::{self, FlowName};
use outrigger_flow::{Lease, Record, State, TaskRecord};

/// The record in a status. Tasks of steps that this version does not know are dropped.
pub fn from_status(status: &FlowStatus) -> Record {
    record_of(status, step::find)
}

/// The record in a status, of a flow whose step ids `find` knows.
pub fn record_of(status: &FlowStatus, find: impl Fn(&str) -> Option<&'static str>) -> Record {
    let tasks = status.tasks.iter().filter_map(|task| {
        let step = find(&task.step)?;
        Some((step, from_task(task)))
    });
    Record {
        run: status.run.clone(),
        retry: status.retry.clone(),
        lease: status.lease.as_ref().map(|lease| Lease {
            holder: lease.holder.clone(),
            expires: time(Some(&lease.expires)),
        }),
        tasks: tasks.collect(),
    }
}

fn from_task(task: &TaskStatus) -> TaskRecord {
    let attempt = task.attempt.unwrap_or(1);
    let owner = task.owner.clone().unwrap_or_default();
    let deadline = time(task.deadline.as_deref());
    let message = task.message.clone();
    let state = match task.state {
        TaskState::Waiting => State::Waiting,
        TaskState::Running => State::Running {
            attempt,
            holder: owner,
            deadline,
        },
        TaskState::Retrying => State::Retrying {
            failed: attempt,
            next_try: time(task.next_try.as_deref()),
            message,
        },
        TaskState::Done => State::Done,
        TaskState::Skipped => State::Skipped,
        TaskState::Delegated => State::Delegated { owner, deadline },
        TaskState::Failed => State::Failed {
            failed: attempt,
            message,
            owner: task.owner.clone(),
        },
    };
    TaskRecord {
        digest: task.digest.clone(),
        state,
        since: time(Some(&task.since)),
        starts: task.starts,
    }
}

/// A time that cannot be read is in the past: what waits for it happens now.
fn time(text: Option<&str>) -> Timestamp {
    let parsed = text.and_then(|text| text.parse().ok());
    parsed.unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The status of a record, with its tasks in the order of the flow.
pub fn to_status(flow: FlowName, record: &Record) -> FlowStatus {
    let steps: Vec<&str> = step::steps(flow).iter().map(|step| step.id).collect();
    status_of(flow.as_str(), &steps, record)
}

/// The status of a record, with its tasks in the order of these steps.
pub fn status_of(flow: &str, steps: &[&str], record: &Record) -> FlowStatus {
    let mut tasks: Vec<TaskStatus> = record
        .tasks
        .iter()
        .map(|(step, task)| to_task(step, task))
        .collect();
    tasks.sort_by_key(|task| steps.iter().position(|step| *step == task.step));
    let current = current(&tasks).cloned();
    let current = current.as_ref();
    FlowStatus {
        name: flow.to_owned(),
        run: record.run.clone(),
        retry: record.retry.clone(),
        completed: false,
        step: current.map(|task| task.step.clone()),
        attempt: current.and_then(|task| task.attempt),
        next_try: current.and_then(|task| task.next_try.clone()),
        lease: record.lease.as_ref().map(|lease| FlowLease {
            holder: lease.holder.clone(),
            expires: lease.expires.to_string(),
        }),
        tasks,
    }
}

/// The first task that is neither done nor skipped nor waiting.
fn current(tasks: &[TaskStatus]) -> Option<&TaskStatus> {
    let mut tasks = tasks.iter();
    tasks.find(|task| {
        !matches!(
            task.state,
            TaskState::Done | TaskState::Skipped | TaskState::Waiting
        )
    })
}

fn to_task(step: &str, task: &TaskRecord) -> TaskStatus {
    let status = TaskStatus {
        step: step.to_owned(),
        digest: task.digest.clone(),
        since: task.since.to_string(),
        starts: task.starts,
        ..TaskStatus::default()
    };
    match &task.state {
        State::Waiting => TaskStatus {
            state: TaskState::Waiting,
            ..status
        },
        State::Running {
            attempt,
            holder,
            deadline,
        } => TaskStatus {
            state: TaskState::Running,
            attempt: Some(*attempt),
            owner: Some(holder.clone()),
            deadline: Some(deadline.to_string()),
            ..status
        },
        State::Retrying {
            failed,
            next_try,
            message,
        } => TaskStatus {
            state: TaskState::Retrying,
            attempt: Some(*failed),
            next_try: Some(next_try.to_string()),
            message: message.clone(),
            ..status
        },
        State::Done => TaskStatus {
            state: TaskState::Done,
            ..status
        },
        State::Skipped => TaskStatus {
            state: TaskState::Skipped,
            ..status
        },
        State::Delegated { owner, deadline } => TaskStatus {
            state: TaskState::Delegated,
            owner: Some(owner.clone()),
            deadline: Some(deadline.to_string()),
            ..status
        },
        State::Failed {
            failed,
            message,
            owner,
        } => TaskStatus {
            state: TaskState::Failed,
            attempt: Some(*failed),
            message: message.clone(),
            owner: owner.clone(),
            ..status
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_record_survives_the_conversion() {
        let now: Timestamp = "2026-11-17T07:00:00.123456789Z".parse().unwrap();
        let states = [
            State::Waiting,
            State::Running {
                attempt: 2,
                holder: "a".into(),
                deadline: now,
            },
            State::Retrying {
                failed: 3,
                next_try: now,
                message: "exit code 1".into(),
            },
            State::Done,
            State::Skipped,
            State::Delegated {
                owner: "operator".into(),
                deadline: Timestamp::MAX,
            },
            State::Failed {
                failed: 5,
                message: "no".into(),
                owner: Some("operator".into()),
            },
        ];
        let steps = step::steps(FlowName::Create).iter().map(|step| step.id);
        let tasks: BTreeMap<_, _> = steps
            .zip(states)
            .map(|(step, state)| {
                let digest = "d".to_owned();
                let (since, starts) = (now, 7);
                let task = TaskRecord {
                    digest,
                    state,
                    since,
                    starts,
                };
                (step, task)
            })
            .collect();
        let record = Record {
            run: "1-Create".into(),
            retry: Some("again".into()),
            lease: Some(Lease {
                holder: "a".into(),
                expires: now,
            }),
            tasks,
        };
        let status = to_status(FlowName::Create, &record);
        let wire = serde_json::to_value(&status).unwrap();
        let status: FlowStatus = serde_json::from_value(wire).unwrap();
        assert_eq!(from_status(&status), record);
        assert_eq!(status.step.as_deref(), Some("EnsurePreClusterInstallHook"));
    }
}
