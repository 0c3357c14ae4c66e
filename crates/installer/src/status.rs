//! Converts the record of an installation from and to its status. Pure.

use jiff::Timestamp;
use outrigger_api::flow_status::{FlowStatus, TaskState};
use outrigger_api::installation::{Installation, InstallationPhase, InstallationStatus};
use outrigger_api::step::installer::{self, INSTALLER_STEPS};
use outrigger_cluster::{Stored, conditions, current_step, record_of, status_of};
use outrigger_flow::Record;

use crate::reports::Report;

/// The name of the flow.
pub(crate) const FLOW: &str = "Install";

/// The record of an installation, if it has begun.
pub(crate) fn record(installation: &Installation) -> Option<Record> {
    let status = installation.status.as_ref()?;
    let find = |name: &str| installer::find(name).map(|step| step.id);
    status.flow.as_ref().map(|flow| record_of(flow, find))
}

/// The status after a record, with what attempts reported.
pub(crate) fn status(
    installation: &Installation,
    record: &Record,
    reports: &[Report],
    is_completed: bool,
) -> InstallationStatus {
    let before = installation.status.clone().unwrap_or_default();
    let steps: Vec<&str> = INSTALLER_STEPS.iter().map(|step| step.id).collect();
    let mut flow = status_of(FLOW, &steps, record);
    flow.completed = is_completed;
    let generation = installation.metadata.generation;
    let stored = Stored {
        flow: before.flow.as_ref(),
        conditions: &before.conditions,
    };
    let mut conditions = conditions(&flow, stored, generation);
    for condition in &mut conditions {
        if condition.reason == TaskState::Skipped.as_str() {
            "skipped, because the configuration or the package says so"
                .clone_into(&mut condition.message);
        }
    }
    let mut status = InstallationStatus {
        observed_generation: generation,
        phase: phase(&flow),
        message: current_step(&flow),
        conditions,
        flow: Some(flow),
        ..before
    };
    for report in reports {
        report.add_to(&mut status);
    }
    status
}

fn phase(flow: &FlowStatus) -> InstallationPhase {
    let has_failed = flow
        .tasks
        .iter()
        .any(|task| task.state == TaskState::Failed);
    match (flow.completed, has_failed) {
        (true, _) => InstallationPhase::Installed,
        (false, true) => InstallationPhase::Failed,
        (false, false) => InstallationPhase::Installing,
    }
}

/// Forgets the results of these steps, so that they run again.
pub(crate) fn forget(record: &mut Record, steps: &[&'static str], now: Timestamp) {
    for step in steps {
        if let Some(task) = record.tasks.get_mut(step) {
            task.state = outrigger_flow::State::Waiting;
            task.since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use outrigger_flow::{State, TaskRecord};

    use super::*;

    fn installation(tasks: &[(&'static str, State)], is_completed: bool) -> InstallationStatus {
        let mut record = Record::new("1-Install");
        for (step, state) in tasks {
            let task = TaskRecord {
                state: state.clone(),
                ..TaskRecord::default()
            };
            record.tasks.insert(step, task);
        }
        let object = Installation::default_named("site");
        status(&object, &record, &[], is_completed)
    }

    #[test]
    fn the_status_has_a_condition_for_each_step_that_has_begun() {
        let failed = State::Failed {
            failed: 5,
            message: "exit code 1".to_owned(),
            owner: None,
        };
        let tasks = [
            ("ExecutePreInstallHook", failed),
            ("PatchHookFiles", State::Done),
            ("LoadImages", State::Skipped),
            ("TagImages", State::Waiting),
        ];
        let status = installation(&tasks, false);
        assert_eq!(status.phase, InstallationPhase::Failed);
        assert!(
            status
                .message
                .contains("failed after 5 attempts: exit code 1")
        );
        let kinds: Vec<&str> = status
            .conditions
            .iter()
            .map(|it| it.kind.as_str())
            .collect();
        assert_eq!(
            kinds,
            ["PatchHookFiles", "ExecutePreInstallHook", "LoadImages"]
        );
        assert!(
            status.conditions[2]
                .message
                .contains("the configuration or the package")
        );
        assert_eq!(installation(&[], true).phase, InstallationPhase::Installed);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut object = Installation::default_named("site");
        let mut record = Record::new("1-Install");
        record.tasks.insert("LoadImages", TaskRecord::default());
        object.status = Some(status(&object, &record, &[], false));
        assert_eq!(super::record(&object), Some(record));
    }
}
