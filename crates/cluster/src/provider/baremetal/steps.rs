//! The steps, by id.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::{Machine, MachineRole};

use super::files::Files;
use super::work::Work;
use crate::{Effect, Remote, Report, Step, StepError, StepInput, StepPlan};

mod cluster_dns;
mod cni_plugins;
mod container_runtime;
mod drain_node;
mod duplicates;
mod etcd_snapshot;
mod images;
mod init_phase;
mod join;
mod kernel_modules;
mod kubeadm;
mod kubeconfig;
mod kubelet;
mod mark_node;
mod node_ready;
mod node_upgraded;
mod nodes;
mod pod_network;
mod preflight;
mod remove_etcd_member;
mod remove_machine;
mod remove_node;
mod start_container_runtime;
mod start_kubelet;
mod sysctl;
mod upgrade_node;
mod upgrade_preflight;
mod wait_control_plane;

/// All steps. Without files, nothing can be installed.
pub(super) fn all(files: Option<&Arc<Files>>) -> BTreeMap<&'static str, Box<dyn Step>> {
    let mut steps: BTreeMap<&'static str, Box<dyn Step>> = BTreeMap::new();
    steps.insert(
        "EnsureRemoveMachine",
        Box::new(remove_machine::RemoveMachine),
    );
    steps.insert("EnsureRemoveNode", Box::new(remove_node::RemoveNode));
    steps.insert(
        "EnsureRemoveETCDMember",
        Box::new(remove_etcd_member::RemoveEtcdMember),
    );
    let Some(files) = files else { return steps };
    let files = || Arc::clone(files);
    steps.insert("EnsureKernelModule", script(kernel_modules::work));
    steps.insert("EnsureSysctl", script(sysctl::work));
    steps.insert("EnsurePreflight", Box::new(preflight::Preflight(files())));
    steps.insert("EnsureClusterComplete", Box::new(duplicates::Duplicates));
    steps.insert("EnsureJoinPhasePreflight", Box::new(duplicates::Duplicates));
    steps.insert(
        "EnsureContainerRuntime",
        Box::new(container_runtime::ContainerRuntime(files())),
    );
    steps.insert(
        "EnsureStartContainerRuntime",
        script(start_container_runtime::work),
    );
    steps.insert("EnsureKubernetesImages", Box::new(images::Images(files())));
    for (id, is_restarted) in [("EnsureKubelet", false), ("EnsureUpgradeKubelet", true)] {
        let files = files();
        let kubelet = kubelet::Kubelet {
            files,
            is_restarted,
        };
        steps.insert(id, Box::new(kubelet));
    }
    steps.insert("EnsureStartKubelet", script(start_kubelet::work));
    steps.insert(
        "EnsureCNIPlugins",
        Box::new(cni_plugins::CniPlugins(files())),
    );
    steps.insert("EnsureKubeadm", Box::new(kubeadm::Kubeadm(files())));
    for (id, phases) in init_phase::PHASES {
        steps.insert(id, Box::new(init_phase::InitPhase(phases)));
    }
    steps.insert(
        "EnsureKubeadmInitPhaseWaitControlPlane",
        script(wait_control_plane::work),
    );
    steps.insert("EnsureKubeconfig", Box::new(kubeconfig::Kubeconfig));
    steps.insert(
        "EnsureJoinPhaseKubeletStart",
        Box::new(join::Join(MachineRole::Worker)),
    );
    steps.insert(
        "EnsureJoinPhaseControlPlaneJoinETCD",
        Box::new(join::Join(MachineRole::ControlPlane)),
    );
    steps.insert("EnsurePodNetwork", Box::new(pod_network::PodNetworkStep));
    steps.insert("EnsureMarkControlPlane", Box::new(mark_node::MarkNode));
    steps.insert("EnsureMarkNode", Box::new(mark_node::MarkNode));
    steps.insert("EnsureNodeReady", Box::new(node_ready::NodeReady));
    steps.insert("EnsureClusterDNS", Box::new(cluster_dns::ClusterDns));
    add_upgrade(&mut steps, &files());
    steps
}

fn add_upgrade(steps: &mut BTreeMap<&'static str, Box<dyn Step>>, files: &Arc<Files>) {
    let preflight = upgrade_preflight::UpgradePreflight(Arc::clone(files));
    steps.insert("EnsureUpgradePreflight", Box::new(preflight));
    steps.insert("EnsureETCDSnapshot", Box::new(etcd_snapshot::EtcdSnapshot));
    for (id, role) in [
        ("EnsureUpgradeControlPlaneNode", MachineRole::ControlPlane),
        ("EnsureUpgrade", MachineRole::Worker),
    ] {
        steps.insert(id, Box::new(upgrade_node::UpgradeNode(role)));
    }
    steps.insert("EnsureDrainNode", Box::new(drain_node::DrainNode));
    steps.insert("EnsureNodeUpgraded", Box::new(node_upgraded::NodeUpgraded));
}

/// A step that is one script, the same for all machines.
struct ScriptStep(fn() -> Work);

fn script(work: fn() -> Work) -> Box<dyn Step> {
    Box::new(ScriptStep(work))
}

impl Step for ScriptStep {
    fn plan(&self, _: &StepInput<'_>) -> Option<StepPlan> {
        Some((self.0)().plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let work = (self.0)();
            (Report::default(), work.attempt(effect, &[]).await)
        }
        .boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}

/// Whether a machine is the first of the control plane, which initializes the cluster.
fn is_first(input: &StepInput<'_>) -> bool {
    let first = input.cluster.spec.machines.first();
    let address = input.machine.map(|machine| machine.spec.access.address());
    first.map(outrigger_api::machine::MachineAccess::address) == address && address.is_some()
}

/// The machine on which commands for the cluster run: the first one of the control plane that answers.
async fn control_plane(effect: Effect<'_>) -> Result<Arc<dyn Remote>, StepError> {
    let (_, remote) = control_plane_machine(effect).await?;
    Ok(remote)
}

/// The same with the machine.
async fn control_plane_machine(
    effect: Effect<'_>,
) -> Result<(Arc<Machine>, Arc<dyn Remote>), StepError> {
    let machines = effect.peers.control_planes();
    let mut failure = None;
    for machine in &machines {
        let remote = effect.peers.connect(machine).await?;
        if machines.len() == 1 {
            return Ok((Arc::clone(machine), remote));
        }
        match remote.ids().await {
            Ok(_) => return Ok((Arc::clone(machine), remote)),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.map_or_else(
        || StepError::Provider("the cluster has no machine of the control plane".to_owned()),
        StepError::from,
    ))
}

fn role(machine: &Machine) -> &'static str {
    match machine.spec.role {
        MachineRole::ControlPlane => "ControlPlane",
        MachineRole::Worker => "Worker",
    }
}
