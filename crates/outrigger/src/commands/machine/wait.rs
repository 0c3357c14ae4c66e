//! When a machine is where a command wants it to be. Pure.

use kube::{Api, Client};
use outrigger_api::machine::{Machine, MachinePhase};
use outrigger_cluster::lifecycle;

use crate::commands::plugin::progress::{Awaited, Key, phase_and_message};
use crate::commands::plugin::wait_condition::WaitStatus;

/// What a command waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachineCondition {
    Running,
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
                MachineCondition::Running => WaitStatus::Failed("deleted".to_owned()),
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

    fn failure_hint(_: &Key) -> Option<String> {
        Some("outrigger cluster retry CLUSTER tries again; outrigger machine remove --force gives up".to_owned())
    }
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
        let running = MachineCondition::Running;
        assert_eq!(evaluate("Running", false, running), WaitStatus::Met);
        let failed = WaitStatus::Failed("Failed: no".to_owned());
        assert_eq!(evaluate("Failed", false, running), failed);
        let deleted = MachineCondition::Deleted;
        let failed = WaitStatus::Failed("not removed: Failed: no".to_owned());
        assert_eq!(evaluate("Failed", true, deleted), failed);
        // It failed before, and the removal has not begun.
        let pending = WaitStatus::Pending("Failed: no".to_owned());
        assert_eq!(evaluate("Failed", false, deleted), pending);
        assert_eq!(Machine::evaluate(None, &deleted), WaitStatus::Met);
        let created = MachineCondition::CreatedAndRunning;
        let pending = WaitStatus::Pending("not created".to_owned());
        assert_eq!(Machine::evaluate(None, &created), pending);
        assert_eq!(evaluate("Running", false, created), WaitStatus::Met);
    }
}
