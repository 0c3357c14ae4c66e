//! Conditions, derived from records: one for each step that has begun.

use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::flow_status::{FlowStatus, TaskState, TaskStatus};

/// What is stored about the steps of an object.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    pub flow: Option<&'a FlowStatus>,
    pub conditions: &'a [Condition],
}

/// The conditions of the tasks of a flow. A transition time changes only with the status.
pub fn conditions(
    flow: &FlowStatus,
    stored: Stored<'_>,
    generation: Option<i64>,
) -> Vec<Condition> {
    let tasks = flow.tasks.iter();
    let tasks = tasks.filter(|task| task.state != TaskState::Waiting);
    tasks
        .map(|task| condition(task, stored, generation))
        .collect()
}

/// Whether a task was delegated already. If not, its condition is not what an operator says, but how it ended before.
fn was_delegated(task: &TaskStatus, stored: Option<&FlowStatus>) -> bool {
    let mut tasks = stored.iter().flat_map(|flow| &flow.tasks);
    tasks.any(|stored| {
        stored.step == task.step
            && stored.state == TaskState::Delegated
            && stored.since == task.since
    })
}

fn condition(task: &TaskStatus, stored: Stored<'_>, generation: Option<i64>) -> Condition {
    let status = match task.state {
        TaskState::Done | TaskState::Skipped => ConditionStatus::True,
        TaskState::Retrying | TaskState::Failed => ConditionStatus::False,
        TaskState::Waiting | TaskState::Running | TaskState::Delegated => ConditionStatus::Unknown,
    };
    let mut before = stored.conditions.iter();
    let before = before.find(|condition| condition.kind == task.step);
    if let Some(reported) = before.filter(|_| task.state == TaskState::Delegated)
        && reported.status != ConditionStatus::Unknown
        && was_delegated(task, stored.flow)
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
        let [condition] = &conditions(&flow, NOTHING, Some(3))[..] else {
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

    const NOTHING: Stored<'_> = Stored {
        flow: None,
        conditions: &[],
    };

    fn after<'a>(flow: &'a FlowStatus, conditions: &'a [Condition]) -> Stored<'a> {
        Stored {
            flow: Some(flow),
            conditions,
        }
    }

    #[test]
    fn a_step_that_is_delegated_again_waits_for_a_new_report() {
        let failed = flow(task(TaskState::Failed, "1"));
        let ended = conditions(&failed, NOTHING, None);
        let delegated = flow(task(TaskState::Delegated, "2"));
        let waiting = conditions(&delegated, after(&failed, &ended), None);
        assert_eq!(waiting[0].status, ConditionStatus::Unknown);
        let mut reported = waiting;
        reported[0].status = ConditionStatus::True;
        let kept = conditions(&delegated, after(&delegated, &reported), None);
        assert_eq!(kept, reported);
    }

    #[test]
    fn the_transition_time_follows_the_status() {
        let running = flow(task(TaskState::Running, "1"));
        let first = conditions(&running, NOTHING, None);
        let delegated = flow(task(TaskState::Delegated, "2"));
        let second = conditions(&delegated, after(&running, &first), None);
        assert_eq!(second[0].last_transition_time, "1");
        let done = flow(task(TaskState::Done, "3"));
        let third = conditions(&done, after(&delegated, &second), None);
        assert_eq!(third[0].last_transition_time, "3");
    }
}
