//! The status of clusters and machines, from records and outcomes.
//!
//! Recorded are flows, versions, hooks, facts, host keys and addresses. Everything else is derived from them whenever an
//! object is reconciled, so that what somebody else writes there does not stay.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use outrigger_api::cluster::{Cluster, ClusterPhase, ClusterStatus};
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::flow_status::{FlowStatus, HookStatus, TaskState};
use outrigger_api::machine::{Machine, MachinePhase, MachineStatus};
use outrigger_api::step::FlowName;
use outrigger_flow::{Outcome, Record, Target};

use crate::conditions::{Stored, conditions};
use crate::lifecycle::{self, desired_version, is_removed, run_version};
use crate::{Inputs, Report, current_step, from_status, to_status};

/// The condition that says whether the spec is valid.
pub const ACCEPTED: &str = "Accepted";

/// The message of a machine that is [`lifecycle::kept`].
const KEPT: &str = "the only machine of the control plane is not removed: add another one to spec.machines of the cluster, \
                    or delete the cluster";

/// The message of a machine that does not take part in the flow that runs begins with it.
const WAITS: &str = "waits for the end of flow ";

/// The status of a machine with a record of a flow.
pub fn of_machine(
    cluster: &Cluster,
    machine: &Machine,
    inputs: &Inputs,
    record: &Record,
    reports: &[Report],
) -> MachineStatus {
    let mut status = machine.status.clone().unwrap_or_default();
    let generation = machine.metadata.generation;
    let flow = to_status(inputs.run.flow, record);
    status.observed_generation = generation;
    let target = Target::Machine(machine.metadata.name.clone().unwrap_or_default());
    let stored = Stored {
        flow: status.flow.as_ref(),
        conditions: &status.conditions,
    };
    status.conditions = conditions(&flow, stored, generation);
    let conditions = &mut status.conditions;
    conditions.retain(|condition| inputs.is_task(&target, &condition.kind));
    status.message = current_step(&flow);
    let is_finished = inputs.is_finished(&target, record);
    let has_failed = flow
        .tasks
        .iter()
        .any(|task| task.state == TaskState::Failed);
    status.phase = match inputs.run.flow {
        _ if has_failed => MachinePhase::Failed,
        FlowName::Delete | FlowName::ScaleDown => MachinePhase::Terminating,
        _ if is_finished => MachinePhase::Running,
        FlowName::Upgrade => MachinePhase::Upgrading,
        FlowName::RenewCertificates => MachinePhase::Renewing,
        FlowName::Restore => MachinePhase::Restoring,
        FlowName::UpdateRegistries => MachinePhase::Configuring,
        FlowName::Create | FlowName::ScaleUp => MachinePhase::Initializing,
    };
    let is_installed = status.phase == MachinePhase::Running && installs(inputs.run.flow);
    if is_installed && !was_finished(&status, inputs, &target, record) {
        status.version = Some(run_version(cluster, &inputs.run).to_owned());
    }
    status.flow = Some(flow);
    for report in reports {
        if let Some(hook) = &report.hook {
            set_hook(&mut status.hooks, hook);
        }
        status.facts = report.facts.clone().or(status.facts);
        if let Some(id) = &report.machine_id {
            let facts = status.facts.get_or_insert_default();
            id.clone_into(&mut facts.machine_id);
        }
        status.host_key = status.host_key.or_else(|| report.host_key.clone());
        status.address = status.address.or_else(|| report.address.clone());
        if let Some(proxy) = &report.proxy {
            let recorded = status.proxy.filter(|known| known.address == proxy.address);
            status.proxy = Some(recorded.unwrap_or_else(|| proxy.clone()));
        }
    }
    status
}

/// Whether a flow ends with machines that have its version.
const fn installs(flow: FlowName) -> bool {
    matches!(
        flow,
        FlowName::Create | FlowName::Upgrade | FlowName::ScaleUp
    )
}

/// Whether the steps of a run were finished before: the machine has the version that they installed, not one that the spec
/// has by now.
fn was_finished(status: &MachineStatus, inputs: &Inputs, target: &Target, record: &Record) -> bool {
    let before = status.flow.as_ref().map(from_status);
    let before = before.filter(|before| before.run == record.run);
    status.version.is_some() && before.is_some_and(|before| inputs.is_finished(target, &before))
}

/// The status of a machine by what is recorded. `inputs` are those of the flow that runs; `is_kept` is whether the machine is
/// [`lifecycle::kept`].
pub fn recorded_machine(
    cluster: &Cluster,
    machine: &Machine,
    inputs: Option<&Inputs>,
    is_kept: bool,
) -> MachineStatus {
    let flow = machine.status.as_ref().and_then(|it| it.flow.as_ref());
    let current = inputs.zip(flow.map(from_status));
    let is_current = |(inputs, record): &(&Inputs, Record)| {
        // One that was finished before others were added takes part in the run no longer.
        record.run == inputs.run.id && inputs.takes_part(machine)
    };
    let mut status = match current.filter(is_current) {
        Some((inputs, record)) => of_machine(cluster, machine, inputs, &record, &[]),
        None => idle_machine(machine, inputs.is_none()),
    };
    let is_waiting = [MachinePhase::Pending, MachinePhase::Terminating].contains(&status.phase);
    if let Some(inputs) = inputs.filter(|inputs| is_waiting && !inputs.takes_part(machine)) {
        status.message = format!("{WAITS}{}", inputs.run.flow.as_str());
    }
    if is_kept && status.message.is_empty() {
        KEPT.clone_into(&mut status.message);
    }
    status
}

/// The status of a machine that takes part in no flow. `is_idle` is whether no flow is due.
fn idle_machine(machine: &Machine, is_idle: bool) -> MachineStatus {
    let mut status = machine.status.clone().unwrap_or_default();
    let generation = machine.metadata.generation;
    if is_idle && status.version.is_some() && !is_removed(machine) {
        status.flow = status.flow.map(finished);
    }
    let flow = status.flow.clone().unwrap_or_default();
    let mut tasks = flow.tasks.iter();
    status.observed_generation = generation;
    let stored = Stored {
        flow: Some(&flow),
        conditions: &status.conditions,
    };
    status.conditions = conditions(&flow, stored, generation);
    status.message = current_step(&flow);
    status.phase = if tasks.any(|task| task.state == TaskState::Failed) {
        MachinePhase::Failed
    } else if is_removed(machine) {
        MachinePhase::Terminating
    } else if status.version.is_some() {
        MachinePhase::Running
    } else if status.flow.is_some() {
        MachinePhase::Initializing
    } else {
        MachinePhase::Pending
    };
    status
}

/// The record of a flow of which nothing is left to do: that a step failed or waits is what somebody else wrote, and so is
/// everything about a flow that does not exist.
fn finished(flow: FlowStatus) -> FlowStatus {
    let Some(name) = FlowName::parse(&flow.name) else {
        return FlowStatus {
            name: flow.name,
            run: flow.run,
            retry: flow.retry,
            completed: flow.completed,
            ..FlowStatus::default()
        };
    };
    let mut record = from_status(&flow);
    record.tasks.retain(|_, task| task.state.is_finished());
    FlowStatus {
        completed: flow.completed,
        ..to_status(name, &record)
    }
}

/// The status of a cluster with a record of a flow.
pub fn of_cluster(
    cluster: &Cluster,
    inputs: &Inputs,
    record: &Record,
    reports: &[Report],
) -> ClusterStatus {
    let mut status = cluster.status.clone().unwrap_or_default();
    let generation = cluster.metadata.generation;
    let flow = to_status(inputs.run.flow, record);
    status.observed_generation = generation;
    set_conditions(&mut status, &flow, generation, |step| {
        inputs.is_task(&Target::Cluster, step)
    });
    status.phase = phase(inputs.run.flow);
    status.message = current_step(&flow);
    status.flow = Some(flow);
    for report in reports {
        if let Some(hook) = &report.hook {
            set_hook(&mut status.hooks, hook);
        }
        let kept = report.kubeconfig_secret.clone();
        status.kubeconfig_secret_ref = kept.or(status.kubeconfig_secret_ref);
        let endpoint = status.control_plane_endpoint;
        status.control_plane_endpoint = endpoint.or_else(|| report.endpoint.clone());
    }
    status
}

/// Sets the conditions of the steps of a flow. The other one is set by [`accepted`] and [`refused`].
fn set_conditions(
    status: &mut ClusterStatus,
    flow: &FlowStatus,
    generation: Option<i64>,
    is_task: impl Fn(&str) -> bool,
) {
    let before = std::mem::take(&mut status.conditions);
    let stored = Stored {
        flow: status.flow.as_ref(),
        conditions: &before,
    };
    status.conditions = conditions(flow, stored, generation);
    let conditions = &mut status.conditions;
    conditions.retain(|condition| is_task(&condition.kind));
    let accepted = before.into_iter().find(|it| it.kind == ACCEPTED);
    conditions.extend(accepted);
}

fn set_hook(hooks: &mut Vec<HookStatus>, hook: &HookStatus) {
    hooks.retain(|known| known.name != hook.name);
    hooks.push(hook.clone());
}

const fn phase(flow: FlowName) -> ClusterPhase {
    match flow {
        FlowName::Create => ClusterPhase::Initializing,
        FlowName::Upgrade => ClusterPhase::Upgrading,
        FlowName::ScaleUp => ClusterPhase::Upscaling,
        FlowName::ScaleDown => ClusterPhase::Downscaling,
        FlowName::RenewCertificates => ClusterPhase::Renewing,
        FlowName::Restore => ClusterPhase::Restoring,
        FlowName::UpdateRegistries => ClusterPhase::Configuring,
        FlowName::Delete => ClusterPhase::Terminating,
    }
}

/// The status of a cluster after a pass.
pub fn after_pass(
    cluster: &Cluster,
    machines: &[&Machine],
    inputs: &Inputs,
    outcome: &Outcome,
) -> ClusterStatus {
    let flow = inputs.run.flow;
    let recorded = cluster.status.as_ref().and_then(|it| it.flow.as_ref());
    let record = recorded.map(from_status);
    let mut status = match record.filter(|record| record.run == inputs.run.id) {
        Some(record) => of_cluster(cluster, inputs, &record, &[]),
        None => cluster.status.clone().unwrap_or_default(),
    };
    status.observed_generation = cluster.metadata.generation;
    status.machines = count(machines);
    let own = status.flow.as_ref().map(current_step);
    status.message = failures(machines).or(own).unwrap_or_default();
    if let Some(flow) = &mut status.flow {
        flow.completed = *outcome == Outcome::Done;
    }
    match (outcome, flow) {
        (Outcome::Done, FlowName::Create | FlowName::Upgrade) => {
            let desired = desired_version(cluster);
            let machines: Vec<&Machine> = inputs.participants(machines).collect();
            let version = lifecycle::lowest_version(&machines).unwrap_or(desired);
            status.version = Some(version.to_owned());
            status.phase = ClusterPhase::Running;
            if flow == FlowName::Create {
                // What was asked for before there was a cluster is not done with a new one.
                status.requests = requests(cluster, FlowName::ALL);
            }
        }
        (
            Outcome::Done,
            FlowName::RenewCertificates | FlowName::Restore | FlowName::UpdateRegistries,
        ) => {
            status.requests.extend(requests(cluster, &[flow]));
            status.phase = ClusterPhase::Running;
        }
        (Outcome::Done | Outcome::Failed(_), FlowName::ScaleUp | FlowName::ScaleDown) => {
            // The cluster works, whatever became of these machines.
            status.phase = ClusterPhase::Running;
        }
        (Outcome::Failed(_), _) => status.phase = ClusterPhase::Failed,
        _ => status.phase = phase(flow),
    }
    status
}

/// What a user asks for, by flow.
fn requests(cluster: &Cluster, flows: &[FlowName]) -> BTreeMap<String, String> {
    let requests = flows.iter().filter_map(|flow| {
        let request = lifecycle::request(cluster, *flow)?;
        Some((flow.as_str().to_owned(), request.into_owned()))
    });
    requests.collect()
}

/// The status of a cluster of which no flow is due.
pub fn idle(cluster: &Cluster, machines: &[&Machine]) -> ClusterStatus {
    let mut status = cluster.status.clone().unwrap_or_default();
    let generation = cluster.metadata.generation;
    status.flow = status.flow.map(|flow| FlowStatus {
        completed: true,
        ..finished(flow)
    });
    let flow = status.flow.clone().unwrap_or_default();
    status.observed_generation = generation;
    set_conditions(&mut status, &flow, generation, |_| true);
    status.machines = count(machines);
    status.message = failures(machines).unwrap_or_default();
    status.phase = ClusterPhase::Running;
    status
}

/// The status of a cluster whose spec is not valid, or whose flow cannot begin.
pub fn refused(
    cluster: &Cluster,
    machines: &[&Machine],
    (reason, message): (&str, &str),
    now: &str,
) -> ClusterStatus {
    let mut status = cluster.status.clone().unwrap_or_default();
    status.observed_generation = cluster.metadata.generation;
    status.machines = count(machines);
    let accepted = Accepted {
        status: ConditionStatus::False,
        reason,
        message,
    };
    accepted.set(&mut status.conditions, &cluster.metadata, now);
    message.clone_into(&mut status.message);
    status.phase = match recorded_phase(cluster) {
        // The cluster works as it was before the change.
        phase @ (ClusterPhase::Running | ClusterPhase::Terminating) => phase,
        _ => ClusterPhase::Failed,
    };
    status
}

/// The status of a cluster about whose spec nothing can be said yet.
pub fn undecided(
    cluster: &Cluster,
    machines: &[&Machine],
    (reason, message): (&str, &str),
    now: &str,
) -> ClusterStatus {
    let mut status = cluster.status.clone().unwrap_or_default();
    status.observed_generation = cluster.metadata.generation;
    status.machines = count(machines);
    let accepted = Accepted {
        status: ConditionStatus::Unknown,
        reason,
        message,
    };
    accepted.set(&mut status.conditions, &cluster.metadata, now);
    message.clone_into(&mut status.message);
    status.phase = recorded_phase(cluster);
    status
}

/// The phase of a cluster of which nothing is done, by what is recorded.
fn recorded_phase(cluster: &Cluster) -> ClusterPhase {
    if lifecycle::is_deleted(cluster) {
        return ClusterPhase::Terminating;
    }
    let is_created = lifecycle::installed_version(cluster).is_some();
    let flow = lifecycle::current_run(cluster).map(|run| run.flow);
    match flow {
        Some(
            flow @ (FlowName::Upgrade
            | FlowName::RenewCertificates
            | FlowName::Restore
            | FlowName::UpdateRegistries),
        ) if !lifecycle::is_completed(cluster) => phase(flow),
        _ if is_created => ClusterPhase::Running,
        Some(flow) => phase(flow),
        None => ClusterPhase::default(),
    }
}

/// The status of a cluster whose spec is valid.
pub fn accepted(cluster: &Cluster, now: &str) -> ClusterStatus {
    let mut status = cluster.status.clone().unwrap_or_default();
    let was_refused = status
        .conditions
        .iter()
        .any(|condition| condition.kind == ACCEPTED && condition.status != ConditionStatus::True);
    if was_refused {
        status.message.clear();
    }
    let accepted = Accepted {
        status: ConditionStatus::True,
        reason: "Valid",
        message: "",
    };
    accepted.set(&mut status.conditions, &cluster.metadata, now);
    status
}

/// The status of a machine that cannot take part in flows.
pub fn refused_machine(machine: &Machine, message: &str, now: &str) -> MachineStatus {
    let mut status = idle_machine(machine, false);
    let before = machine.status.iter().flat_map(|it| &it.conditions);
    let before = before.filter(|it| it.kind == ACCEPTED).cloned();
    status.conditions.extend(before);
    status.phase = MachinePhase::Failed;
    message.clone_into(&mut status.message);
    let accepted = Accepted {
        status: ConditionStatus::False,
        reason: "MachineRefused",
        message,
    };
    accepted.set(&mut status.conditions, &machine.metadata, now);
    status
}

/// What the condition [`ACCEPTED`] says.
struct Accepted<'a> {
    status: ConditionStatus,
    reason: &'a str,
    message: &'a str,
}

impl Accepted<'_> {
    fn set(&self, conditions: &mut Vec<Condition>, metadata: &ObjectMeta, now: &str) {
        let before = conditions.iter().find(|it| it.kind == ACCEPTED);
        let unchanged = before.filter(|before| before.status == self.status);
        let last_transition_time = unchanged.map_or(now, |before| &before.last_transition_time);
        let condition = Condition {
            kind: ACCEPTED.to_owned(),
            status: self.status,
            reason: self.reason.to_owned(),
            message: self.message.to_owned(),
            last_transition_time: last_transition_time.to_owned(),
            observed_generation: metadata.generation,
        };
        conditions.retain(|it| it.kind != ACCEPTED);
        conditions.push(condition);
    }
}

fn count(machines: &[&Machine]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for machine in machines {
        let phase = machine.status.as_ref().map(|status| status.phase);
        let phase = format!("{:?}", phase.unwrap_or_default());
        *counts.entry(phase).or_default() += 1;
    }
    counts
}

/// The first machine that has something to say, and how many others have. Those that wait have not.
fn failures(machines: &[&Machine]) -> Option<String> {
    let messages = machines.iter().filter_map(|machine| {
        let status = machine.status.as_ref()?;
        let name = machine.metadata.name.as_deref().unwrap_or_default();
        let has_message = !status.message.is_empty() && !status.message.starts_with(WAITS);
        has_message.then(|| format!("{name}: {}", status.message))
    });
    let mut messages: Vec<String> = messages.collect();
    messages.sort();
    let first = messages.first()?;
    Some(match messages.len() {
        1 => first.clone(),
        2 => format!("{first} (and 1 other machine)"),
        more => format!("{first} (and {} other machines)", more - 1),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kube::ResourceExt as _;
    use outrigger_api::cluster::ClusterSpec;
    use outrigger_api::flow_status::TaskStatus;
    use outrigger_api::machine::{MachineRole, MachineSpec};
    use outrigger_node::Tree;

    use super::*;
    use crate::StandIn;
    use crate::lifecycle::Run;

    fn worker(name: &str, version: Option<&str>) -> Machine {
        let mut machine = Machine::new(name, MachineSpec::default());
        machine.spec.role = MachineRole::Worker;
        machine.status = Some(MachineStatus {
            version: version.map(str::to_owned),
            ..MachineStatus::default()
        });
        machine
    }

    fn inputs_of(cluster: &Cluster, participants: &[&Machine]) -> Inputs {
        let run = Run {
            flow: FlowName::ScaleUp,
            id: "2-ScaleUp".to_owned(),
        };
        let tree = Tree::scan(std::path::Path::new("/"), &[], &BTreeSet::new()).unwrap();
        Inputs::new(cluster, participants, &tree, &StandIn, run)
    }

    #[test]
    fn a_worker_that_runs_keeps_its_conditions_while_another_one_is_added() {
        let cluster = Cluster::new("c", ClusterSpec::default());
        let mut running = worker("w1", Some("1.30.0"));
        let task = TaskStatus {
            step: "EnsurePreflight".to_owned(),
            state: TaskState::Done,
            ..TaskStatus::default()
        };
        running.status.as_mut().unwrap().flow = Some(FlowStatus {
            name: FlowName::ScaleUp.as_str().to_owned(),
            run: "2-ScaleUp".to_owned(),
            tasks: vec![task],
            ..FlowStatus::default()
        });
        let added = worker("w2", None);
        let machines = [&running, &added];
        let participants = lifecycle::participants(FlowName::ScaleUp, &cluster, &machines);
        let names: Vec<String> = participants.iter().map(|it| it.name_any()).collect();
        assert_eq!(names, ["w2"]);
        let inputs = inputs_of(&cluster, &participants);
        let status = recorded_machine(&cluster, &running, Some(&inputs), false);
        assert_eq!(status.phase, MachinePhase::Running);
        let kinds: Vec<&str> = status.conditions.iter().map(|it| &*it.kind).collect();
        assert_eq!(kinds, ["EnsurePreflight"]);
    }

    #[test]
    fn an_edited_record_of_a_flow_says_nothing_about_a_cluster_that_is_idle() {
        for (name, state) in [
            ("ScaleUp", TaskState::Failed),
            ("Edited", TaskState::Failed),
            ("Edited", TaskState::Retrying),
            ("", TaskState::Delegated),
        ] {
            let task = TaskStatus {
                step: "EnsurePreflight".to_owned(),
                state,
                message: "edited".to_owned(),
                ..TaskStatus::default()
            };
            let flow = FlowStatus {
                name: name.to_owned(),
                run: "2-ScaleUp".to_owned(),
                tasks: vec![task],
                step: Some("EnsurePreflight".to_owned()),
                ..FlowStatus::default()
            };
            let mut machine = worker("w1", Some("1.30.0"));
            machine.status.as_mut().unwrap().flow = Some(flow.clone());
            let status = idle_machine(&machine, true);
            assert_eq!(
                (status.message.as_str(), status.phase),
                ("", MachinePhase::Running)
            );
            assert_eq!(status.conditions, []);
            let mut cluster = Cluster::new("c", ClusterSpec::default());
            cluster.status.get_or_insert_default().flow = Some(flow);
            machine.status = Some(status);
            let status = idle(&cluster, &[&machine]);
            assert_eq!(
                (status.message.as_str(), status.phase),
                ("", ClusterPhase::Running)
            );
            assert_eq!(status.conditions, []);
            assert_eq!(status.flow.unwrap().step, None);
        }
    }

    #[test]
    fn a_machine_that_leaves_a_run_before_it_was_reached_is_not_installed() {
        let cluster = Cluster::new("c", ClusterSpec::default());
        let (leaving, other) = (worker("w1", None), worker("w2", None));
        let inputs = inputs_of(&cluster, &[&other]);
        let record = Record {
            run: "2-ScaleUp".to_owned(),
            ..Record::default()
        };
        let status = of_machine(&cluster, &leaving, &inputs, &record, &[]);
        assert_eq!(status.version, None);
        assert_eq!(status.phase, MachinePhase::Initializing);
    }

    #[test]
    fn a_machine_that_waits_for_another_flow_says_so_and_is_no_failure() {
        let cluster = Cluster::new("c", ClusterSpec::default());
        let added = worker("w1", None);
        let inputs = inputs_of(&cluster, &[&added]);
        let mut removed = worker("w3", Some("1.30.0"));
        let time =
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH);
        removed.metadata.deletion_timestamp = Some(time);
        for mut waiting in [worker("w2", None), removed] {
            let status = recorded_machine(&cluster, &waiting, Some(&inputs), false);
            assert_eq!(status.message, "waits for the end of flow ScaleUp");
            waiting.status = Some(status);
            assert_eq!(failures(&[&waiting]), None);
        }
    }
}
