//! What a live view shows of a cluster: its steps, with how many machines have done each, and the machines that need
//! attention. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::ResourceExt as _;
use outrigger_api::cluster::Cluster;
use outrigger_api::flow_status::{FlowStatus, HookStatus, TaskState, TaskStatus};
use outrigger_api::machine::Machine;
use outrigger_api::step::{self, FlowName};

use crate::printable;

/// Lines of a view, so that it fits any terminal.
pub(crate) const MAX_LINES: usize = 18;
/// With more machines, successful hooks of machines are not printed one by one.
const FEW_MACHINES: usize = 20;

/// A cluster and its machines, as they were last observed.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) cluster: Option<Cluster>,
    pub(crate) machines: BTreeMap<String, Machine>,
    /// The names of machines that must run as well.
    pub(crate) expected: BTreeSet<String>,
    /// The executions of hooks that were printed.
    printed: BTreeSet<HookKey>,
    /// Hooks that ended before are not printed.
    since: Option<Timestamp>,
}

/// Machine, hook, attempt, and when it finished: a cluster that is created again has the same attempts.
type HookKey = (String, String, String, String);

/// How many targets of a step are in each state.
#[derive(Debug, Default)]
struct StepCounts {
    total: usize,
    states: BTreeMap<&'static str, usize>,
}

impl View {
    /// A view that prints only hooks which end later.
    pub(crate) fn since(time: Timestamp) -> Self {
        Self {
            since: Some(time),
            ..Self::default()
        }
    }

    /// Sets the cluster as it is now.
    pub(crate) fn set_cluster(&mut self, cluster: Cluster) {
        if self.cluster.is_none() {
            let status = cluster.status.clone().unwrap_or_default();
            self.skip_former_hooks(status.flow.as_ref(), &status.hooks);
        }
        self.cluster = Some(cluster);
    }

    /// Sets a machine as it is now.
    pub(crate) fn set_machine(&mut self, machine: Machine) {
        let name = machine.name_any();
        if !self.machines.contains_key(&name) {
            let status = machine.status.clone().unwrap_or_default();
            self.skip_former_hooks(status.flow.as_ref(), &status.hooks);
        }
        self.machines.insert(name, machine);
    }

    /// Hooks that ran in flows before the one in which the view begins are not printed.
    fn skip_former_hooks(&mut self, flow: Option<&FlowStatus>, hooks: &[HookStatus]) {
        let run = flow.map(|flow| format!("{}/", flow.run));
        let is_former = |hook: &&HookStatus| {
            let run = run.as_ref();
            run.is_none_or(|run| !hook.attempt.starts_with(run.as_str()))
        };
        let former = hooks.iter().filter(is_former).map(key);
        self.printed.extend(former);
    }

    /// Lines about hooks that ended since the last call, in the order in which they did.
    pub(crate) fn ended_hooks(&mut self) -> Vec<String> {
        let is_few = self.machines.len() <= FEW_MACHINES;
        let cluster = self.cluster.as_ref().and_then(|it| it.status.as_ref());
        let of_cluster = cluster.map_or(&[][..], |status| &status.hooks).iter();
        let machines = self.machines.values();
        let statuses = machines.filter_map(|machine| machine.status.as_ref());
        let of_machines = statuses.flat_map(|status| &status.hooks);
        let of_machines = of_machines.filter(|hook| is_few || hook.exit_code != Some(0));
        let hooks = of_cluster.chain(of_machines);
        let is_former = |hook: &HookStatus| {
            let finished = hook.finished.parse::<Timestamp>().ok();
            finished
                .zip(self.since)
                .is_some_and(|(finished, since)| finished < since)
        };
        let new = hooks.filter(|hook| !self.printed.contains(&key(hook)) && !is_former(hook));
        let mut new: Vec<HookStatus> = new.cloned().collect();
        new.sort_by(|a, b| (&a.finished, &a.machine).cmp(&(&b.finished, &b.machine)));
        self.printed.extend(new.iter().map(key));
        new.iter().map(hook_line).collect()
    }

    /// The state of the cluster in at most `limit` lines.
    pub(crate) fn lines(&self, limit: usize) -> Vec<String> {
        let Some(cluster) = &self.cluster else {
            return Vec::new();
        };
        let mut lines = vec![headline(cluster, &self.phases())];
        let steps = self.steps(cluster);
        let notable = self.notable();
        let room = limit.saturating_sub(1);
        let shown_notable = notable.len().min(room / 2);
        let shown_steps = steps.len().min(room - shown_notable);
        // The last steps are the current ones.
        lines.extend(steps.into_iter().rev().take(shown_steps).rev());
        if shown_notable == 0 {
            return lines;
        }
        if shown_notable < notable.len() {
            let rest = notable.len() - shown_notable + 1;
            lines.extend(notable.into_iter().take(shown_notable - 1));
            let machines = if rest == 1 { "machine" } else { "machines" };
            lines.push(format!("  … and {rest} more {machines}"));
        } else {
            lines.extend(notable);
        }
        lines
    }

    /// The phase of the cluster, and what is wrong.
    pub(crate) fn headline(&self) -> Option<String> {
        Some(headline(self.cluster.as_ref()?, ""))
    }

    /// How many machines are in which phase.
    fn phases(&self) -> String {
        let mut phases: BTreeMap<String, usize> = BTreeMap::new();
        for machine in self.machines.values() {
            let phase = machine.status.as_ref().map(|status| status.phase);
            let phase = format!("{:?}", phase.unwrap_or_default());
            *phases.entry(phase).or_default() += 1;
        }
        let phases = phases
            .iter()
            .map(|(phase, count)| format!("{count} {phase}"));
        phases.collect::<Vec<_>>().join(", ")
    }

    /// One line for each step that has begun, in the order of the flow.
    fn steps(&self, cluster: &Cluster) -> Vec<String> {
        let flow = cluster.status.as_ref().and_then(|it| it.flow.as_ref());
        let Some(name) = flow.and_then(|flow| FlowName::parse(&flow.name)) else {
            return Vec::new();
        };
        let mut counts: BTreeMap<&str, StepCounts> = BTreeMap::new();
        let run = flow.map(|flow| flow.run.as_str());
        let tasks = flow.into_iter().flat_map(|flow| &flow.tasks);
        let machines = self.machines.values();
        let flows = machines.filter_map(|machine| machine.status.as_ref()?.flow.as_ref());
        let flows = flows.filter(|flow| Some(flow.run.as_str()) == run);
        for task in tasks.chain(flows.flat_map(|flow| &flow.tasks)) {
            let count = counts.entry(&task.step).or_default();
            count.total += 1;
            *count.states.entry(task.state.as_str()).or_default() += 1;
        }
        let ids = step::steps(name).iter().map(|step| step.id);
        ids.filter_map(|id| Some(step_line(id, counts.get(id)?)))
            .collect()
    }

    /// The machines with a step that failed, is tried again, waits for an operator or runs; failures first.
    fn notable(&self) -> Vec<String> {
        let mut notable = Vec::new();
        for (name, machine) in &self.machines {
            let flow = machine.status.as_ref().and_then(|it| it.flow.as_ref());
            let tasks = flow.into_iter().flat_map(|flow| &flow.tasks);
            let current = tasks.filter_map(|task| Some((urgency(task)?, task)));
            if let Some((urgency, task)) = current.min_by_key(|(urgency, _)| *urgency) {
                let message = task.message.lines().next().unwrap_or_default();
                let state = task.state.as_str();
                let line = format!("  {name:<24} {:<28} {state} {message}", task.step);
                notable.push((urgency, line.trim_end().to_owned()));
            }
        }
        notable.sort();
        notable.into_iter().map(|(_, line)| line).collect()
    }
}

fn key(hook: &HookStatus) -> HookKey {
    (
        hook.machine.clone(),
        hook.name.clone(),
        hook.attempt.clone(),
        hook.finished.clone(),
    )
}

/// Name, phase, and what is wrong; otherwise a detail.
fn headline(cluster: &Cluster, detail: &str) -> String {
    let status = cluster.status.clone().unwrap_or_default();
    let detail = if status.message.is_empty() {
        detail
    } else {
        &status.message
    };
    let phase = format!("{:?}", status.phase);
    let line = format!("{:<24} {phase:<12} {detail}", cluster.name_any());
    printable::line(line.trim_end())
}

fn urgency(task: &TaskStatus) -> Option<u8> {
    match task.state {
        TaskState::Failed => Some(0),
        TaskState::Retrying => Some(1),
        TaskState::Delegated => Some(2),
        TaskState::Running => Some(3),
        TaskState::Waiting | TaskState::Done | TaskState::Skipped => None,
    }
}

fn step_line(id: &str, counts: &StepCounts) -> String {
    let states = counts.states.iter();
    let states: Vec<String> = states
        .map(|(state, count)| match counts.total {
            1 => (*state).to_owned(),
            _ => format!("{count} {state}"),
        })
        .collect();
    format!("  {id:<32} {}", states.join(", "))
}

/// The name of a hook, where it ran, its exit code and the last line of its output.
fn hook_line(hook: &HookStatus) -> String {
    let code = match hook.exit_code {
        Some(code) => format!("exit code {code}"),
        None => "did not end".to_owned(),
    };
    let output = hook.output.trim_end().lines().last().unwrap_or_default();
    let line = format!("{:<20} {:<24} {code}  {output}", hook.name, hook.machine);
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(number: usize, state: &str) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine",
            "metadata": {"name": format!("m{number:03}")},
            "spec": {"cluster": "a", "ip": format!("10.0.{}.{}", number / 250, number % 250)},
            "status": {
                "phase": "Initializing",
                "flow": {"name": "Create", "run": "1-Create", "tasks": [
                    {"step": "EnsureCopyFiles", "state": "Done", "since": ""},
                    {"step": "EnsurePreInstallHook", "state": state, "since": "", "message": "exit code 1\nmore"},
                ]},
                "hooks": [{
                    "name": "PreInstall", "machine": format!("m{number:03}"), "attempt": "1",
                    "exitCode": i32::from(state != "Done"), "finished": "2026-01-01T00:00:00Z",
                    "output": "first\npre node install\n",
                }],
            },
        }))
        .unwrap()
    }

    fn view(states: &[(usize, &str)]) -> View {
        let mut view = View {
            cluster: serde_json::from_value(json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": {},
                "status": {"phase": "Initializing", "flow": {"name": "Create", "run": "1-Create", "tasks": [
                    {"step": "EnsurePreClusterInstallHook", "state": "Done", "since": ""},
                ]}},
            }))
            .unwrap(),
            ..View::default()
        };
        for (number, state) in states {
            view.machines
                .insert(format!("m{number:03}"), machine(*number, state));
        }
        view
    }

    #[test]
    fn steps_are_counted_and_machines_with_failures_come_first() {
        let view = view(&[(1, "Running"), (2, "Done"), (3, "Failed")]);
        let expected = [
            "a                        Initializing 3 Initializing",
            "  EnsureCopyFiles                  3 Done",
            "  EnsurePreClusterInstallHook      Done",
            "  EnsurePreInstallHook             1 Done, 1 Failed, 1 Running",
            "  m003                     EnsurePreInstallHook         Failed exit code 1",
            "  m001                     EnsurePreInstallHook         Running exit code 1",
        ];
        assert_eq!(view.lines(MAX_LINES), expected);
    }

    #[test]
    fn five_hundred_machines_keep_to_the_screen() {
        let machines: Vec<_> = (0..500).map(|number| (number, "Running")).collect();
        let mut view = view(&machines);
        view.machines
            .insert("m777".to_owned(), machine(777, "Failed"));
        for limit in 1..MAX_LINES {
            assert!(view.lines(limit).len() <= limit, "{limit}");
        }
        let lines = view.lines(MAX_LINES);
        assert!(lines.len() <= MAX_LINES, "{lines:#?}");
        assert!(lines[4].starts_with("  m777 "), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "  … and 494 more machines");
    }

    #[test]
    fn hooks_of_former_flows_are_not_printed_again() {
        let mut view = View::default();
        let mut former = machine(1, "Done");
        let status = former.status.as_mut().unwrap();
        status.hooks[0].attempt = "0-Create/EnsurePreInstallHook/1".to_owned();
        view.set_machine(former.clone());
        assert_eq!(view.ended_hooks(), [""; 0]);
        let status = former.status.as_mut().unwrap();
        status.hooks[0].attempt = "1-Create/EnsurePreInstallHook/1".to_owned();
        view.set_machine(former.clone());
        assert_eq!(view.ended_hooks().len(), 1);
        let mut joined = View::default();
        joined.set_machine(former);
        assert_eq!(joined.ended_hooks().len(), 1);
    }

    #[test]
    fn a_message_of_several_lines_is_one_line_of_the_view() {
        let mut view = view(&[(1, "Failed")]);
        let cluster = view.cluster.as_mut().unwrap();
        let status = cluster.status.as_mut().unwrap();
        status.message = "m001: exit code 1\nsecond line\nthird".to_owned();
        for line in view.lines(MAX_LINES) {
            assert!(!line.contains('\n'), "{line:?}");
        }
        assert!(!view.headline().unwrap().contains('\n'));
    }

    #[test]
    fn hooks_of_a_cluster_that_is_created_again_are_printed_again() {
        let mut view = view(&[(1, "Done")]);
        assert_eq!(view.ended_hooks().len(), 1);
        let mut again = machine(1, "Done");
        let status = again.status.as_mut().unwrap();
        "2026-01-01T00:01:00Z".clone_into(&mut status.hooks[0].finished);
        view.set_machine(again);
        assert_eq!(view.ended_hooks().len(), 1);
    }

    #[test]
    fn hooks_that_ended_before_the_view_began_are_not_printed() {
        for (since, printed) in [("2026-01-01T00:00:00Z", 1), ("2026-01-01T00:00:01Z", 0)] {
            let mut view = View::since(since.parse().unwrap());
            view.set_machine(machine(1, "Done"));
            view.printed.clear();
            assert_eq!(view.ended_hooks().len(), printed, "{since}");
        }
    }

    #[test]
    fn each_hook_is_printed_once_and_of_many_machines_only_failures() {
        let mut few = view(&[(1, "Done")]);
        assert_eq!(
            few.ended_hooks(),
            ["PreInstall           m001                     exit code 0  pre node install"]
        );
        assert_eq!(few.ended_hooks(), [""; 0]);
        let machines: Vec<_> = (0..30).map(|number| (number, "Done")).collect();
        let mut many = view(&machines);
        many.machines
            .insert("m777".to_owned(), machine(777, "Failed"));
        assert_eq!(many.ended_hooks().len(), 1);
    }
}
