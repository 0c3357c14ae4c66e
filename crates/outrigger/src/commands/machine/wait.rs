//! When a machine is where a command wants it to be. Pure.

use kube::{Api, Client, ResourceExt as _};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::flow_status::TaskState;
use outrigger_api::machine::{Machine, MachinePhase, MachineStatus};
use outrigger_cluster::lifecycle;
use outrigger_cluster::status::ACCEPTED;

use crate::commands::plugin::progress::{Awaited, Key, phase_and_message};
use crate::commands::plugin::wait_condition::WaitStatus;

/// What a command waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MachineCondition {
    Running,
    /// Running, and what failed before this retry of its cluster does not count.
    Retried(String),
    /// Running, after the controller has created it.
    CreatedAndRunning,
    Deleted,
}

impl Awaited for Machine {
    type Condition = MachineCondition;
    const NOUN: &'static str = "machine";

    fn evaluate(object: Option<&Self>, condition: &MachineCondition) -> WaitStatus {
        let Some(machine) = object else {
            return match condition {
                MachineCondition::Deleted => WaitStatus::Met,
                MachineCondition::Running | MachineCondition::Retried(_) => {
                    WaitStatus::Failed("deleted".to_owned())
                }
                MachineCondition::CreatedAndRunning => {
                    WaitStatus::Pending("not created".to_owned())
                }
            };
        };
        let status = machine.status.clone().unwrap_or_default();
        let is_observed = status.observed_generation == machine.metadata.generation;
        let is_removed = lifecycle::is_removed(machine);
        let has_failed = is_observed && status.phase == MachinePhase::Failed;
        let is_started = !matches!(condition, MachineCondition::Deleted);
        match condition {
            _ if is_started && is_removed => WaitStatus::Failed("being removed".to_owned()),
            _ if is_started && is_observed && status.phase == MachinePhase::Running => {
                WaitStatus::Met
            }
            MachineCondition::Retried(retry) if has_failed && is_retry_pending(machine, retry) => {
                WaitStatus::Pending("about to be tried again".to_owned())
            }
            _ if is_started && has_failed => WaitStatus::Failed(machine.describe()),
            MachineCondition::Deleted
                if has_failed && is_removed && !lifecycle::is_machine_forced(machine) =>
            {
                WaitStatus::Failed(format!("not removed: {}", machine.describe()))
            }
            _ => WaitStatus::Pending(machine.describe()),
        }
    }

    fn describe(&self) -> String {
        let status = self.status.clone().unwrap_or_default();
        phase_and_message(status.phase, &status.message)
    }

    fn api(client: &Client, _: &[Key]) -> Api<Self> {
        Api::all(client.clone())
    }

    fn show_command(_: &Key) -> String {
        "outrigger machine list".to_owned()
    }

    fn failure_hint(&self) -> Option<String> {
        let (name, cluster) = (self.name_any(), &self.spec.cluster);
        Some(format!(
            "outrigger cluster retry {cluster} tries again; outrigger machine remove {name} --force gives up"
        ))
    }
}

/// Whether a failed step of a machine is yet to be tried again. One that is refused is not.
fn is_retry_pending(machine: &Machine, retry: &str) -> bool {
    let Some(status) = &machine.status else {
        return false;
    };
    let mut failed = status.flow.iter().flat_map(|flow| &flow.tasks);
    let has_failed = failed.any(|task| task.state == TaskState::Failed);
    let retried = status.flow.as_ref().and_then(|it| it.retry.as_deref());
    has_failed && retried != Some(retry) && !is_refused(status)
}

fn is_refused(status: &MachineStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|it| it.kind == ACCEPTED && it.status == ConditionStatus::False)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(phase: &str, is_removed: bool) -> Machine {
        let mut machine: Machine = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine",
            "metadata": {"name": "w1", "generation": 1}, "spec": {"cluster": "a", "ip": "10.0.0.9"},
            "status": {"phase": phase, "observedGeneration": 1, "message": "no"},
        }))
        .unwrap();
        if is_removed {
            let time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
            machine.metadata.deletion_timestamp = Some(time);
        }
        machine
    }

    #[test]
    fn a_machine_that_failed_is_not_waited_for() {
        let evaluate = |phase, is_removed, condition| {
            Machine::evaluate(Some(&machine(phase, is_removed)), &condition)
        };
        let running = || MachineCondition::Running;
        assert_eq!(evaluate("Running", false, running()), WaitStatus::Met);
        let failed = WaitStatus::Failed("Failed: no".to_owned());
        assert_eq!(evaluate("Failed", false, running()), failed);
        let deleted = || MachineCondition::Deleted;
        let failed = WaitStatus::Failed("not removed: Failed: no".to_owned());
        assert_eq!(evaluate("Failed", true, deleted()), failed);
        // It failed before, and the removal has not begun.
        let pending = WaitStatus::Pending("Failed: no".to_owned());
        assert_eq!(evaluate("Failed", false, deleted()), pending);
        assert_eq!(Machine::evaluate(None, &deleted()), WaitStatus::Met);
        let created = MachineCondition::CreatedAndRunning;
        let pending = WaitStatus::Pending("not created".to_owned());
        assert_eq!(Machine::evaluate(None, &created), pending);
        assert_eq!(evaluate("Running", false, created), WaitStatus::Met);
    }
    #[test]
    fn a_failure_before_the_retry_of_the_cluster_does_not_count() {
        let mut machine = machine("Failed", false);
        let retried = MachineCondition::Retried("now".to_owned());
        let status = machine.status.as_mut().unwrap();
        let task = json!({"step": "EnsurePreflight", "state": "Failed", "since": ""});
        let flow = json!({"name": "ScaleUp", "run": "2-ScaleUp", "tasks": [task]});
        status.flow = serde_json::from_value(flow).unwrap();
        let pending = WaitStatus::Pending("about to be tried again".to_owned());
        assert_eq!(Machine::evaluate(Some(&machine), &retried), pending);
        let flow = machine.status.as_mut().unwrap().flow.as_mut().unwrap();
        flow.retry = Some("now".to_owned());
        let failed = WaitStatus::Failed("Failed: no".to_owned());
        assert_eq!(Machine::evaluate(Some(&machine), &retried), failed);
    }
}
