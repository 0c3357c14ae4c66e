//! Prints plans of installations, and what is done.

use std::collections::BTreeMap;

use outrigger_api::step::installer::INSTALLER_STEPS;
use outrigger_flow::{State, Transition};
use outrigger_installer::{Contents, PlannedState, PlannedStep, step_plan};
use serde::Serialize;

use crate::arguments::Output;
use crate::printer::{Printer, Row};
use crate::report::note;

/// A row of a plan.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct PlanRow<'p>(&'p PlannedStep);

impl Row for PlanRow<'_> {
    const HEADERS: &'static [&'static str] = &["STEP", "ACTION", "WHAT"];

    fn cells(&self) -> Vec<String> {
        let action = match self.0.state {
            PlannedState::Run => "run",
            PlannedState::Done => "done",
            PlannedState::Skip => "skip",
        };
        vec![
            self.0.step.to_owned(),
            action.to_owned(),
            self.0.text.clone(),
        ]
    }
}

pub(super) fn print_plan(
    steps: &[PlannedStep],
    output: Output,
    printer: &Printer,
) -> anyhow::Result<()> {
    let rows: Vec<PlanRow<'_>> = steps.iter().map(PlanRow).collect();
    printer.list(output, &rows)
}

/// One line for each step that begins, and one for each that fails.
#[derive(Debug)]
pub(super) struct Progress {
    texts: BTreeMap<&'static str, String>,
}

impl Progress {
    pub(super) fn new(contents: &Contents) -> Self {
        let steps = INSTALLER_STEPS.iter();
        let texts = steps.filter_map(|step| {
            let plan = step_plan(step.id, contents)?;
            Some((step.id, plan.text))
        });
        Self {
            texts: texts.collect(),
        }
    }

    pub(super) fn show(&self, transition: &Transition) {
        let step = transition.task.step;
        if let Some(text) = self.line(transition) {
            note(&format!("{step:<28} {text}"));
        }
    }

    fn line(&self, transition: &Transition) -> Option<String> {
        let text = self.texts.get(transition.task.step);
        let text = text.cloned().unwrap_or_default();
        match (&transition.from, &transition.to) {
            (State::Running { .. }, State::Running { .. }) => Some(format!("resumed: {text}")),
            (_, State::Running { attempt: 1, .. }) => Some(text),
            (_, State::Running { attempt, .. }) => Some(format!("attempt {attempt}: {text}")),
            (_, State::Retrying { message, .. }) => {
                Some(format!("failed, is tried again: {message}"))
            }
            (_, State::Failed { message, .. }) => Some(format!("failed: {message}")),
            (_, State::Skipped) => Some(format!("skipped: {text}")),
            (_, State::Waiting | State::Done | State::Delegated { .. }) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use outrigger_flow::{Target, Task};

    use super::*;

    #[test]
    fn steps_are_named_when_they_begin_and_when_they_fail() {
        let texts = BTreeMap::from([("LoadImages", "load 3 images".to_owned())]);
        let progress = Progress { texts };
        let line = |from: State, to: State| {
            let (step, target) = ("LoadImages", Target::Cluster);
            let task = Task { step, target };
            progress.line(&Transition { task, from, to })
        };
        let running = |attempt: u32| State::Running {
            attempt,
            holder: "a".to_owned(),
            deadline: Timestamp::MAX,
        };
        let failed = State::Failed {
            failed: 3,
            message: "no space".to_owned(),
            owner: None,
        };
        assert_eq!(line(State::Waiting, running(1)).unwrap(), "load 3 images");
        assert_eq!(
            line(State::Waiting, running(2)).unwrap(),
            "attempt 2: load 3 images"
        );
        assert_eq!(
            line(running(1), running(1)).unwrap(),
            "resumed: load 3 images"
        );
        assert_eq!(line(running(3), failed).unwrap(), "failed: no space");
        assert_eq!(line(running(1), State::Done), None);
    }
}
