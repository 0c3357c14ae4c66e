//! Conditions, derived from records: one for each step that has begun.

use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::flow_status::{FlowStatus, TaskState, TaskStatus};

/// The conditions of the tasks of a flow. A transition time changes only with the status.
pub fn conditions(
    flow: &FlowStatus,
    before: &[Condition],
    generation: Option<i64>,
) -> Vec<Condition> {
    let tasks = flow.tasks.iter();
    let tasks = tasks.filter(|task| task.state != TaskState::Waiting);
    tasks
        .map(|task| condition(task, before, generation))
        .collect()
}

fn condition(task: &TaskStatus, before: &[Condition], generation: Option<i64>) -> Condition {
    let status = match task.state {
        TaskState::Done | TaskState::Skipped => ConditionStatus::True,
        TaskState::Retrying | TaskState::Failed => ConditionStatus::False,
        TaskState::Waiting | TaskState::Running | TaskState::Delegated => ConditionStatus::Unknown,
    };
    let mut before = before.iter();
    let before = before.find(|condition| condition.kind == task.step);
    if let Some(reported) = before.filter(|_| task.state == TaskState::Delegated)
        && reported.status != ConditionStatus::Unknown
    {
        // What the operator says, until it is recorded.
        return reported.clone();
    }
    let unchanged = before.filter(|before| before.status == status);
    Condition {
        kind: task.step.clone(),
        status,
        reason: task.state.as_str().to_owned(),
        message: message(task),
        last_transition_time: unchanged.map_or_else(
            || task.since.clone(),
            |before| before.last_transition_time.clone(),
        ),
        observed_generation: generation,
    }
}

/// What there is to say about a task.
fn message(task: &TaskStatus) -> String {
    let attempt = task.attempt.unwrap_or(1);
    let owner = task.owner.as_deref().unwrap_or("nobody");
    let deadline = task.deadline.as_deref().unwrap_or("the end of time");
    match task.state {
        TaskState::Running if attempt > 1 => format!("attempt {attempt} is running"),
        TaskState::Running | TaskState::Waiting | TaskState::Done => String::new(),
        TaskState::Skipped => "skipped, because spec.features.skipConditions lists it".to_owned(),
        TaskState::Delegated => format!("waiting for {owner} until {}", seconds(deadline)),
        TaskState::Retrying => format!(
            "attempt {attempt} failed, next try at {}: {}",
            seconds(task.next_try.as_deref().unwrap_or("once")),
            task.message
        ),
        TaskState::Failed if attempt == 1 => format!("failed: {}", task.message),
        TaskState::Failed => format!("failed after {attempt} attempts: {}", task.message),
    }
}

/// A time without fractions of a second: `2026-01-01T00:00:00Z`.
fn seconds(time: &str) -> String {
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.round(jiff::Unit::Second).unwrap_or(time).to_string(),
        Err(_) => time.to_owned(),
    }
}

/// What the current step of a flow does or waits for, for the message of the object.
pub fn current_step(flow: &FlowStatus) -> String {
    let mut tasks = flow.tasks.iter();
    let current = tasks.find(|task| {
        matches!(
            task.state,
            TaskState::Retrying | TaskState::Failed | TaskState::Delegated
        )
    });
    match current {
        Some(task) => format!("{}: {}", task.step, message(task)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(state: TaskState, since: &str) -> TaskStatus {
        TaskStatus {
            step: "EnsureKubelet".into(),
            state,
            since: since.into(),
            owner: Some("my-operator".into()),
            deadline: Some("2026-01-01T01:00:00Z".into()),
            ..TaskStatus::default()
        }
    }

    fn flow(task: TaskStatus) -> FlowStatus {
        FlowStatus {
            tasks: vec![task],
            ..FlowStatus::default()
        }
    }

    #[test]
    fn delegated_is_not_a_failure_and_says_who_is_waited_for() {
        let flow = flow(task(TaskState::Delegated, "2026-01-01T00:00:00Z"));
        let [condition] = &conditions(&flow, &[], Some(3))[..] else {
            panic!("one condition is expected");
        };
        assert_eq!(condition.status, ConditionStatus::Unknown);
        assert_eq!(condition.reason, "Delegated");
        assert_eq!(
            condition.message,
            "waiting for my-operator until 2026-01-01T01:00:00Z"
        );
        assert_eq!(condition.observed_generation, Some(3));
    }

    #[test]
    fn messages_count_attempts_in_words_and_have_no_fractions_of_seconds() {
        let mut retrying = task(TaskState::Retrying, "");
        retrying.next_try = Some("2026-01-01T00:00:00.123456789Z".into());
        retrying.message = "exit code 1".into();
        assert_eq!(
            message(&retrying),
            "attempt 1 failed, next try at 2026-01-01T00:00:00Z: exit code 1"
        );
        let mut failed = task(TaskState::Failed, "");
        failed.message = "exit code 1".into();
        assert_eq!(message(&failed), "failed: exit code 1");
    }

    #[test]
    fn the_transition_time_follows_the_status() {
        let first = conditions(&flow(task(TaskState::Running, "1")), &[], None);
        let second = conditions(&flow(task(TaskState::Delegated, "2")), &first, None);
        assert_eq!(second[0].last_transition_time, "1");
        let third = conditions(&flow(task(TaskState::Done, "3")), &second, None);
        assert_eq!(third[0].last_transition_time, "3");
    }
}
