//! Decides which flow of a cluster is due: a pure function of the objects and of where the current flow stands.

use std::borrow::Cow;
use std::collections::BTreeMap;

use outrigger_api::annotation::{ALLOW_DOWNGRADE, FORCE, LOST};
use outrigger_api::cluster::{Cluster, ClusterType};
use outrigger_api::flow_status::TaskState;
use outrigger_api::machine::{Machine, MachineRole};
use outrigger_api::step::FlowName;
use outrigger_flow::Outcome;
use outrigger_gostd::semver::Version;

use crate::steps::digest;

mod request;
#[cfg(test)]
mod tests;

use request::is_requested;
pub use request::{annotated_request, request};

/// A flow and what distinguishes this run from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub flow: FlowName,
    /// Identifies the run: a number, the flow, and the version of an upgrade.
    pub id: String,
}

/// What to do about a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Run the flow, or go on with it.
    Run(Run),
    /// Nothing is due.
    Idle,
    /// The cluster is removed from its machines: let the objects go.
    Release,
}

/// The flow that is due. `outcome` is where the current flow stands; `None` if there is none.
pub fn next(cluster: &Cluster, machines: &[&Machine], outcome: Option<&Outcome>) -> Next {
    let current = current_run(cluster);
    if is_deleted(cluster) {
        let is_deleting = current
            .as_ref()
            .is_some_and(|run| run.flow == FlowName::Delete);
        let is_done = is_deleting && outcome == Some(&Outcome::Done);
        if is_done || is_forced(cluster) {
            return Next::Release;
        }
        return Next::Run(run(cluster, current, FlowName::Delete));
    }
    if installed_version(cluster).is_none() {
        return Next::Run(run(cluster, current, FlowName::Create));
    }
    match due(cluster, machines, current.as_ref(), outcome) {
        Some(flow) => Next::Run(run(cluster, current, flow)),
        None => Next::Idle,
    }
}

/// The flow that is due in a cluster that was created.
fn due(
    cluster: &Cluster,
    machines: &[&Machine],
    current: Option<&Run>,
    outcome: Option<&Outcome>,
) -> Option<FlowName> {
    let leaving = participants(FlowName::ScaleDown, cluster, machines);
    // A machine that cannot be removed does not hold up the others.
    let scale_down = leaving.iter().any(|machine| !has_failed_to_leave(machine));
    let upgrade = needs_upgrade(cluster, current);
    // Nothing else can be done without the data of etcd, or with expired certificates.
    let restore = is_requested(cluster, FlowName::Restore);
    let renewal = is_requested(cluster, FlowName::RenewCertificates);
    let scale_up = machines.iter().any(|machine| needs_install(machine));
    let registries = is_requested(cluster, FlowName::UpdateRegistries);
    match (outcome, current) {
        // A flow is finished before another one begins, except for an upgrade to yet another version.
        (Some(Outcome::InProgress | Outcome::Delegated(_) | Outcome::Held(_)), Some(run)) => {
            Some(run.flow)
        }
        // The order is fixed, so that flows which fail do not alternate.
        _ if restore => Some(FlowName::Restore),
        _ if scale_down => Some(FlowName::ScaleDown),
        _ if renewal => Some(FlowName::RenewCertificates),
        // Machines pull the images of an upgrade.
        _ if registries => Some(FlowName::UpdateRegistries),
        _ if upgrade => Some(FlowName::Upgrade),
        _ if scale_up => Some(FlowName::ScaleUp),
        _ if !leaving.is_empty() => Some(FlowName::ScaleDown),
        _ => None,
    }
}

/// Whether the last attempt to remove a machine has failed.
fn has_failed_to_leave(machine: &Machine) -> bool {
    let flow = machine.status.as_ref().and_then(|it| it.flow.as_ref());
    let mut flow = flow
        .filter(|flow| flow.name == FlowName::ScaleDown.as_str())
        .into_iter();
    flow.any(|flow| {
        flow.tasks
            .iter()
            .any(|task| task.state == TaskState::Failed)
    })
}

/// The machines that take part in a flow, in the order in which steps visit them.
pub fn participants<'a>(
    flow: FlowName,
    cluster: &Cluster,
    machines: &[&'a Machine],
) -> Vec<&'a Machine> {
    let kept = kept(cluster, machines);
    let is_kept = |machine: &Machine| kept.is_some_and(|kept| std::ptr::eq(kept, machine));
    let leaves = |machine: &Machine| is_removed(machine) && !is_kept(machine);
    let takes_part = |machine: &Machine| match flow {
        FlowName::Create => machine.spec.role == MachineRole::ControlPlane && !leaves(machine),
        FlowName::Upgrade => !needs_install(machine) && !leaves(machine),
        FlowName::ScaleUp => needs_install(machine),
        FlowName::ScaleDown => leaves(machine),
        FlowName::RenewCertificates => {
            machine.spec.role == MachineRole::ControlPlane
                && !needs_install(machine)
                && !leaves(machine)
                && !is_lost(machine)
        }
        FlowName::Restore | FlowName::UpdateRegistries => {
            !needs_install(machine) && !leaves(machine) && !is_lost(machine)
        }
        FlowName::Delete => has_begun(machine) && !is_lost(machine),
    };
    let mut machines: Vec<&Machine> = machines
        .iter()
        .copied()
        .filter(|machine| takes_part(machine))
        .collect();
    machines.sort_by_key(|machine| {
        let is_worker = machine.spec.role == MachineRole::Worker;
        let position = position(cluster, machine);
        // The members of etcd that are lost are removed before healthy ones.
        let is_lost = is_lost(machine);
        (is_worker, !is_lost, position, machine.metadata.name.clone())
    });
    machines
}

/// The machine of the control plane that is not removed although it is deleted: no other one stays, so that nothing would be
/// left of the cluster.
pub fn kept<'a>(cluster: &Cluster, machines: &[&'a Machine]) -> Option<&'a Machine> {
    let is_created = installed_version(cluster).is_some();
    let control_planes = machines.iter().copied().filter(|machine| {
        let is_part = !is_created || machine_version(machine).is_some();
        machine.spec.role == MachineRole::ControlPlane && is_part && !is_lost(machine)
    });
    let (removed, staying): (Vec<&Machine>, Vec<&Machine>) =
        control_planes.partition(|machine| is_removed(machine));
    let is_leaving = |machine: &Machine| {
        let flow = machine.status.as_ref().and_then(|it| it.flow.as_ref());
        flow.is_some_and(|flow| flow.name == FlowName::ScaleDown.as_str())
    };
    let removed = removed.into_iter().filter(|_| staying.is_empty());
    removed.min_by_key(|machine| {
        let name = machine.metadata.name.clone();
        (is_leaving(machine), position(cluster, machine), name)
    })
}

/// The place of a machine in the spec.
fn position(cluster: &Cluster, machine: &Machine) -> usize {
    let address = machine.spec.access.address();
    let mut listed = cluster.spec.machines.iter();
    let position = listed.position(|access| access.address() == address);
    position.unwrap_or(usize::MAX)
}

/// The machines on which commands for the cluster can run: those of the control plane, in the order of the spec. In a
/// cluster that was created, only those that are part of it; one that is removed is the last choice.
pub fn control_planes<'a>(cluster: &Cluster, machines: &[&'a Machine]) -> Vec<&'a Machine> {
    let is_created = installed_version(cluster).is_some();
    let mut machines: Vec<&Machine> = machines
        .iter()
        .copied()
        .filter(|machine| machine.spec.role == MachineRole::ControlPlane && !is_lost(machine))
        .filter(|machine| !is_created || !needs_install(machine))
        .collect();
    machines.sort_by_key(|machine| {
        let name = machine.metadata.name.clone();
        (is_removed(machine), position(cluster, machine), name)
    });
    machines
}

/// The run that is recorded in the status.
pub fn current_run(cluster: &Cluster) -> Option<Run> {
    let flow = cluster.status.as_ref()?.flow.as_ref()?;
    Some(Run {
        flow: FlowName::parse(&flow.name)?,
        id: flow.run.clone(),
    })
}

/// Whether the recorded run was completed. Changed inputs do not run its steps again.
pub fn is_completed(cluster: &Cluster) -> bool {
    let flow = cluster.status.as_ref().and_then(|it| it.flow.as_ref());
    flow.is_some_and(|flow| flow.completed)
}

pub fn is_deleted(cluster: &Cluster) -> bool {
    outrigger_api::compat::is_deleted(cluster)
}

/// Whether a cluster that is deleted is let go, whatever its machines say.
pub fn is_forced(cluster: &Cluster) -> bool {
    has_annotation(cluster.metadata.annotations.as_ref(), FORCE)
}

/// Whether a machine that is deleted is let go without steps on it.
pub fn is_machine_forced(machine: &Machine) -> bool {
    has_annotation(machine.metadata.annotations.as_ref(), FORCE)
}

/// Whether a machine does not come back.
pub fn is_lost(machine: &Machine) -> bool {
    has_annotation(machine.metadata.annotations.as_ref(), LOST)
}

fn has_annotation(annotations: Option<&BTreeMap<String, String>>, name: &str) -> bool {
    annotations.is_some_and(|all| all.get(name).is_some_and(|value| value == "true"))
}

/// Whether a machine is being removed from its cluster.
pub fn is_removed(machine: &Machine) -> bool {
    machine.metadata.deletion_timestamp.is_some()
}

/// Whether a machine is not part of the cluster yet.
pub fn needs_install(machine: &Machine) -> bool {
    let status = machine.status.as_ref();
    let version = status.and_then(|status| status.version.as_ref());
    version.is_none() && !is_removed(machine)
}

/// Whether anything may have been done on a machine: it was reached, or is being connected to.
pub fn has_begun(machine: &Machine) -> bool {
    let Some(status) = &machine.status else {
        return false;
    };
    let tasks = status.flow.iter().flat_map(|flow| &flow.tasks);
    let is_working = tasks
        .into_iter()
        .any(|task| matches!(task.state, TaskState::Running | TaskState::Done));
    status.version.is_some() || status.host_key.is_some() || is_working
}

/// A version without the prefix that people may write: `v1.34.1` is `1.34.1`.
pub fn plain_version(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}

/// Whether a text is a version, such as `1.34.1`.
pub fn is_version(text: &str) -> bool {
    Version::parse(text).is_ok()
}

/// The version that the cluster was created with or upgraded to. An imported cluster may not have one.
pub fn installed_version(cluster: &Cluster) -> Option<&str> {
    let version = cluster.status.as_ref()?.version.as_deref();
    version.map(plain_version)
}

/// The version of the spec, for the status: that of an imported cluster is not known.
pub fn desired_version(cluster: &Cluster) -> &str {
    match cluster.spec.kind {
        ClusterType::Imported if cluster.spec.version.is_empty() => "unknown",
        _ => plain_version(&cluster.spec.version),
    }
}

/// The version that a run installs. Machines that are added get that of the cluster, whatever the spec asks for by now.
pub fn run_version<'a>(cluster: &'a Cluster, run: &Run) -> &'a str {
    let desired = desired_version(cluster);
    match run.flow {
        FlowName::Create | FlowName::Upgrade => desired,
        FlowName::ScaleUp
        | FlowName::ScaleDown
        | FlowName::RenewCertificates
        | FlowName::Restore
        | FlowName::UpdateRegistries
        | FlowName::Delete => installed_version(cluster).unwrap_or(desired),
    }
}

/// The cluster as a run installs it.
pub fn at_run<'a>(cluster: &'a Cluster, run: &Run) -> Cow<'a, Cluster> {
    let version = run_version(cluster, run);
    if version == desired_version(cluster) {
        return Cow::Borrowed(cluster);
    }
    let mut cluster = cluster.clone();
    version.clone_into(&mut cluster.spec.version);
    Cow::Owned(cluster)
}

/// The version that an upgrade which is not completed installs: machines may have it already.
pub fn upgrading_version(cluster: &Cluster) -> Option<&str> {
    let flow = cluster.status.as_ref()?.flow.as_ref()?;
    version_of(&flow.run).filter(|_| !flow.completed)
}

/// Why the version of the spec is refused: it is older than what is installed, also on single machines by an upgrade that
/// did not end, and no annotation allows it.
pub fn refused_downgrade(cluster: &Cluster, machines: &[&Machine]) -> Option<String> {
    let desired = desired_version(cluster);
    let installed = installed_version(cluster).into_iter();
    let installed = installed.chain(
        machines
            .iter()
            .filter_map(|machine| machine_version(machine)),
    );
    let (installed, highest) = parsed(installed).max_by(|(_, a), (_, b)| a.compare(b))?;
    let is_older = Version::parse(desired).ok()?.compare(&highest).is_lt();
    let annotations = cluster.metadata.annotations.as_ref();
    let allowed = annotations.and_then(|all| all.get(ALLOW_DOWNGRADE));
    let is_allowed = allowed.is_some_and(|version| plain_version(version) == desired);
    let is_refused = is_older && !is_allowed && !is_deleted(cluster);
    is_refused.then(|| format!("{desired} is older than the installed version {installed}"))
}

/// The version that all machines have at least; `None` if it is not known.
pub fn lowest_version<'a>(machines: &[&'a Machine]) -> Option<&'a str> {
    let machines = machines.iter().filter(|machine| !is_removed(machine));
    let versions = machines.filter_map(|machine| machine_version(machine));
    let lowest = parsed(versions).min_by(|(_, a), (_, b)| a.compare(b));
    lowest.map(|(version, _)| version)
}

fn machine_version(machine: &Machine) -> Option<&str> {
    let version = machine.status.as_ref()?.version.as_deref();
    version.map(plain_version)
}

fn parsed<'a>(versions: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (&'a str, Version)> {
    versions.filter_map(|version| Some((version, Version::parse(version).ok()?)))
}

fn needs_upgrade(cluster: &Cluster, current: Option<&Run>) -> bool {
    let is_baremetal = cluster.spec.kind == ClusterType::Baremetal;
    let is_installed = installed_version(cluster) == Some(desired_version(cluster));
    // An upgrade to another version has begun: the machines may have that one.
    let is_upgrading = current.is_some_and(|run| {
        run.flow == FlowName::Upgrade && version_of(&run.id) != Some(desired_version(cluster))
    });
    is_baremetal && (!is_installed || is_upgrading)
}

fn run(cluster: &Cluster, current: Option<Run>, flow: FlowName) -> Run {
    Run {
        id: run_id(cluster, current, flow),
        flow,
    }
}

/// What distinguishes the runs of one flow: the version, or what the user asks for.
fn run_suffix(cluster: &Cluster, current: Option<&Run>, flow: FlowName) -> String {
    let name = flow.as_str();
    if flow == FlowName::Upgrade {
        return format!("{name}-{}", desired_version(cluster));
    }
    if let Some(request) = request(cluster, flow) {
        return format!("{name}-{}", &digest(&[&request])[..12]);
    }
    // A run goes on although nobody asks for it any more.
    let current = current.filter(|run| run.flow == flow && !is_completed(cluster));
    let rest = current.and_then(|run| Some(run.id.split_once('-')?.1.to_owned()));
    rest.unwrap_or_else(|| name.to_owned())
}

/// Whether the current run is the one for what the user asks for by the annotation of a flow.
pub fn is_run_of_request(cluster: &Cluster, flow: FlowName) -> bool {
    let current = current_run(cluster).filter(|run| run.flow == flow);
    let suffix = run_suffix(cluster, current.as_ref(), flow);
    let rest = current.as_ref().and_then(|run| run.id.split_once('-'));
    rest.is_some_and(|(_, rest)| rest == suffix)
}

/// The id of the current run if it is the same flow for the same version or request, else the next one.
fn run_id(cluster: &Cluster, current: Option<Run>, flow: FlowName) -> String {
    let suffix = run_suffix(cluster, current.as_ref(), flow);
    let Some(current) = current else {
        return format!("1-{suffix}");
    };
    let (number, rest) = current.id.split_once('-').unwrap_or(("0", ""));
    let is_same_upgrade = version_of(&current.id) == Some(desired_version(cluster));
    if rest == suffix || (flow == FlowName::Upgrade && is_same_upgrade) {
        return current.id;
    }
    let number: u64 = number.parse().unwrap_or(0);
    format!("{}-{suffix}", number.saturating_add(1))
}

fn version_of(run: &str) -> Option<&str> {
    let (_, rest) = run.split_once('-')?;
    let version = rest
        .strip_prefix(FlowName::Upgrade.as_str())?
        .strip_prefix('-');
    version.map(plain_version)
}
