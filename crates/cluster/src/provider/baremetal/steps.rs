//! The steps, by id.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use kube::ResourceExt as _;
use outrigger_api::machine::{Machine, MachineRole};

use self::duplicates::Duplicates;
use super::files::Files;
use super::work::Work;
use crate::changes::Change;
use crate::lifecycle::is_removed;
use crate::{Effect, Remote, Report, Step, StepError, StepInput, StepPlan};

mod cluster_dns;
mod cni_plugins;
mod container_runtime;
mod control_plane_stopped;
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
mod registry_hosts;
mod remove_etcd_member;
mod remove_machine;
mod remove_node;
mod renew_certificates;
mod renewal_preflight;
mod restart_control_plane;
mod restart_kubelet;
mod restore_etcd;
mod restore_preflight;
mod start_container_runtime;
mod start_control_plane;
mod start_kubelet;
mod stop_control_plane;
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
    steps.insert(
        "EnsureRegistryHosts",
        Box::new(registry_hosts::RegistryHosts),
    );
    add_renewal(&mut steps);
    add_restore(&mut steps);
    let Some(files) = files else { return steps };
    let files = || Arc::clone(files);
    steps.insert("EnsureKernelModule", script(kernel_modules::work));
    steps.insert("EnsureSysctl", script(sysctl::work));
    steps.insert("EnsurePreflight", Box::new(preflight::Preflight(files())));
    for (id, duplicates) in [
        ("EnsureClusterComplete", Duplicates::OfCluster),
        ("EnsureJoinPhasePreflight", Duplicates::OfMachine),
    ] {
        steps.insert(id, Box::new(duplicates));
    }
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
    steps.insert("EnsureKubeconfig", Box::new(kubeconfig::Kubeconfig::First));
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

fn add_renewal(steps: &mut BTreeMap<&'static str, Box<dyn Step>>) {
    steps.insert(
        "EnsureRenewalPreflight",
        Box::new(renewal_preflight::RenewalPreflight),
    );
    steps.insert(
        "EnsureRenewCertificates",
        machine_script(renew_certificates::work),
    );
    steps.insert(
        "EnsureRestartControlPlane",
        machine_script(restart_control_plane::work),
    );
    steps.insert(
        "EnsureRenewKubeconfig",
        Box::new(kubeconfig::Kubeconfig::Any),
    );
}

fn add_restore(steps: &mut BTreeMap<&'static str, Box<dyn Step>>) {
    steps.insert(
        "EnsureRestorePreflight",
        Box::new(restore_preflight::RestorePreflight),
    );
    steps.insert("EnsureStopControlPlane", script(stop_control_plane::work));
    steps.insert(
        "EnsureControlPlaneStopped",
        Box::new(control_plane_stopped::ControlPlaneStopped),
    );
    steps.insert("EnsureRestoreETCD", Box::new(restore_etcd::RestoreEtcd));
    steps.insert(
        "EnsureStartControlPlane",
        machine_script(start_control_plane::work),
    );
    steps.insert("EnsureRestartKubelet", script(restart_kubelet::work));
}

/// A step that is one script.
struct ScriptStep<F>(F);

/// The same script for all machines.
fn script(work: fn() -> Work) -> Box<dyn Step> {
    Box::new(ScriptStep(move |_: &StepInput<'_>| Some(work())))
}

fn machine_script(work: fn(&StepInput<'_>) -> Option<Work>) -> Box<dyn Step> {
    Box::new(ScriptStep(work))
}

impl<F: Fn(&StepInput<'_>) -> Option<Work> + Send + Sync> Step for ScriptStep<F> {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        (self.0)(input).map(|work| work.plan())
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        (self.0)(input).map_or_else(Vec::new, |work| work.changes())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let result = match (self.0)(&effect.input()) {
                Some(work) => work.attempt(effect, &[]).await,
                None => Ok(()),
            };
            (Report::default(), result)
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

/// Asks all machines of the control plane that stay at the same time. All failures are reported, with their machines.
async fn all_control_planes(
    effect: Effect<'_>,
    work: impl Fn(&Machine) -> Work,
) -> Result<Vec<(Arc<Machine>, String)>, StepError> {
    let machines = effect.peers.control_planes().into_iter();
    let asked = machines.filter(|it| !is_removed(it)).map(|machine| {
        let work = work(&machine);
        async move {
            let answer = async {
                let remote = effect.peers.connect(&machine).await?;
                work.query(remote.as_ref()).await
            };
            let answer = answer.await;
            (machine, answer)
        }
    });
    let (mut answers, mut failures) = (Vec::new(), Vec::new());
    for (machine, answer) in join_all(asked).await {
        match answer {
            Ok(answer) => answers.push((machine, answer)),
            Err(error) => failures.push(format!("{}: {error}", machine.name_any())),
        }
    }
    if failures.is_empty() {
        return Ok(answers);
    }
    Err(StepError::Provider(failures.join("; ")))
}

fn role(machine: &Machine) -> &'static str {
    match machine.spec.role {
        MachineRole::ControlPlane => "ControlPlane",
        MachineRole::Worker => "Worker",
    }
}
