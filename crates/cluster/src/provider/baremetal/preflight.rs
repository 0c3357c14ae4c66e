//! Preflight checks: pure functions from facts to findings.

use std::fmt;

use outrigger_api::cluster::{Cluster, PodNetwork};
use outrigger_api::machine::{Machine, MachineFacts, MachineRole};
use serde_json::Value;

use super::files;
use super::host_facts::HostFacts;
use super::network::{Range, pod_cidr, service_cidr};
use super::version_skew::refused_kubelet;
use crate::StepError;
use crate::lifecycle::desired_version;
use crate::provider_folder::{FileKind, Release};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const CONTROL_PLANE_PORTS: &[u16] = &[2379, 2380, 6443, 10250, 10257, 10259];
const WORKER_PORTS: &[u16] = &[10250];
/// In seconds.
const MAX_CLOCK_OFFSET: i64 = 60;
/// Programs of the provider folder without which no machine becomes a node.
const REQUIRED_PROGRAMS: &[&str] = &["kubeadm", "kubectl", "kubelet"];
/// The names of the images that kubeadm runs.
const WORKER_IMAGES: &[&str] = &["coredns", "kube-proxy", "pause"];
const CONTROL_PLANE_IMAGES: &[&str] = &[
    "coredns",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "pause",
];
/// Programs that every machine needs. Packages bring the container runtime and CNI plugins.
const PROGRAMS: &[&str] = &["ip", "modprobe", "mount", "nsenter", "sysctl", "tar"];

/// Why a machine cannot be a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// The name by which the spec can ignore it.
    pub(super) check: String,
    pub(super) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.message)
    }
}

/// What is known about a machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) role: MachineRole,
    pub(super) facts: &'a MachineFacts,
    pub(super) host: &'a HostFacts,
    /// When it was asked, by the clock of the controller: seconds since 1970 before and after.
    pub(super) asked: (i64, i64),
    /// Whether the provider folder has a container runtime and CNI plugins for it.
    pub(super) has_runtime_package: bool,
    pub(super) has_cni_package: bool,
}

/// All findings about a machine, without those that the spec ignores.
pub(super) fn findings(cluster: &Cluster, subject: Subject<'_>) -> Vec<Finding> {
    let mut findings = Findings {
        cluster,
        list: Vec::new(),
    };
    findings.check_clock(subject);
    findings.check_resources(subject);
    findings.check_programs(subject);
    let uid = cluster.metadata.uid.as_deref();
    let is_ours = subject.host.cluster.as_deref() == uid && uid.is_some();
    if !is_ours {
        findings.check_unused(subject);
    }
    findings.check_networks(subject.host);
    findings.list
}

/// A machine as a node of its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeState {
    pub(super) is_ready: bool,
    /// The version of its kubelet.
    pub(super) kubelet: String,
}

impl NodeState {
    /// Parses what `node_state.sh` prints, such as `True v1.36.4`.
    pub(super) fn parse(text: &str) -> Self {
        let mut words = text.split_whitespace();
        Self {
            is_ready: words.next() == Some("True"),
            kubelet: words.next().unwrap_or_default().to_owned(),
        }
    }
}

/// What keeps a machine from being upgraded. `node` is the state of its node, or why it is not known.
pub(super) fn upgrade_findings(
    cluster: &Cluster,
    host: &HostFacts,
    node: &Result<NodeState, String>,
) -> Vec<Finding> {
    let mut findings = Findings {
        cluster,
        list: Vec::new(),
    };
    findings.check_disk(host);
    if host.cluster.as_deref() != cluster.metadata.uid.as_deref() {
        findings.add("Cluster", "does not belong to this cluster");
    }
    match node {
        Ok(node) => {
            if !node.is_ready {
                findings.add("NodeReady", "the node is not ready");
            }
            let skew = refused_kubelet(&node.kubelet, desired_version(cluster));
            if let Some(message) = skew {
                findings.add("VersionSkew", message);
            }
        }
        Err(message) => findings.add("NodeReady", message),
    }
    findings.list
}

/// What a release lacks for machines of a role. A release without images is for machines that pull them.
pub(super) fn missing_files(release: &Release, role: MachineRole) -> Vec<Finding> {
    let is_missing = |name: &&&str| release.file(FileKind::Binary, name).is_none();
    let programs = REQUIRED_PROGRAMS.iter().filter(is_missing);
    let programs = programs.map(|name| Finding {
        check: "Provider".to_owned(),
        message: format!("the provider folder has no program {name}"),
    });
    let needed: &[&str] = match role {
        _ if !files::has_images(release) => &[],
        MachineRole::ControlPlane => CONTROL_PLANE_IMAGES,
        MachineRole::Worker => WORKER_IMAGES,
    };
    let images = needed
        .iter()
        .filter(|name| !files::has_image(release, name));
    let images = images.map(|name| Finding {
        check: format!("Image-{name}"),
        message: format!("the provider folder has no image {name}"),
    });
    programs.chain(images).collect()
}

/// Leaves out what the spec ignores.
pub(super) fn not_ignored(cluster: &Cluster, mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| !is_ignored(cluster, &finding.check));
    findings
}

struct Findings<'a> {
    cluster: &'a Cluster,
    list: Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, check: impl Into<String>, message: impl Into<String>) {
        let (check, message) = (check.into(), message.into());
        if !is_ignored(self.cluster, &check) {
            self.list.push(Finding { check, message });
        }
    }

    /// Certificates and tokens are valid from a moment on.
    fn check_clock(&mut self, subject: Subject<'_>) {
        let Some(time) = subject.host.time else {
            return;
        };
        let (before, after) = subject.asked;
        let (seconds, direction) = if time < before {
            (before.saturating_sub(time), "behind")
        } else {
            (time.saturating_sub(after), "ahead of")
        };
        if seconds > MAX_CLOCK_OFFSET {
            let message = format!(
                "the clock is {seconds} s {direction} that of the controller; synchronize both by NTP"
            );
            self.add("Clock", message);
        }
    }

    fn check_resources(&mut self, subject: Subject<'_>) {
        // Those of kubeadm.
        let (memory, cpus) = match subject.role {
            MachineRole::ControlPlane => (1700 * MIB, 2),
            MachineRole::Worker => (700 * MIB, 1),
        };
        let facts = subject.facts;
        if facts.memory_bytes < memory {
            let message = format!(
                "has {} of memory, needs {}",
                size(facts.memory_bytes),
                size(memory)
            );
            self.add("Mem", message);
        }
        if facts.cpus < cpus {
            self.add("NumCPU", format!("has {} CPUs, needs {cpus}", facts.cpus));
        }
        self.check_disk(subject.host);
        let fails_on_swap = self.cluster.spec.kubelet_config.get("failSwapOn");
        let fails_on_swap = fails_on_swap.and_then(Value::as_bool).unwrap_or(true);
        if subject.host.swap_bytes > 0 && fails_on_swap {
            let message = "swap is on; run swapoff -a and remove it from /etc/fstab, or set failSwapOn: false in kubeletConfig";
            self.add("Swap", message);
        }
    }

    fn check_disk(&mut self, host: &HostFacts) {
        let disk = 3 * GIB;
        if host.free_bytes < disk {
            let free = size(host.free_bytes);
            let message = format!(
                "has {free} of free disk space for images, needs {}",
                size(disk)
            );
            self.add("Disk", message);
        }
    }

    fn check_programs(&mut self, subject: Subject<'_>) {
        let host = subject.host;
        if !host.has_systemd {
            self.add("Systemd", "systemd does not run");
        }
        for program in PROGRAMS
            .iter()
            .filter(|name| !host.programs.contains(**name))
        {
            self.add(
                format!("Program-{program}"),
                format!("{program} is not installed"),
            );
        }
        for program in ["containerd", "runc"] {
            if !host.programs.contains(program) && !subject.has_runtime_package {
                let message = format!(
                    "{program} is not installed, and the provider folder has no package containerd.tar"
                );
                self.add(format!("Program-{program}"), message);
            }
        }
        let needs_cni = self.cluster.spec.pod_network == PodNetwork::Routes;
        if needs_cni && host.cni.is_empty() && !subject.has_cni_package {
            let message =
                "there are no CNI plugins, and the provider folder has no package cni-plugins.tar";
            self.add("CNI", message);
        }
    }

    fn check_unused(&mut self, subject: Subject<'_>) {
        let host = subject.host;
        if host.has_kubernetes || host.cluster.is_some() {
            let message = "already belongs to a cluster; run kubeadm reset on it, or delete that cluster first";
            self.add("Cluster", message);
        }
        let ports = match subject.role {
            MachineRole::ControlPlane => CONTROL_PLANE_PORTS,
            MachineRole::Worker => WORKER_PORTS,
        };
        for port in ports.iter().filter(|port| host.ports.contains(port)) {
            self.add(format!("Port-{port}"), format!("port {port} is in use"));
        }
    }

    fn check_networks(&mut self, host: &HostFacts) {
        let (pods, services) = (pod_cidr(self.cluster), service_cidr(self.cluster));
        for (check, field, cidr) in [
            ("ClusterCIDR", "clusterCIDR", pods),
            ("ServiceCIDR", "serviceCIDR", services),
        ] {
            let Some(range) = Range::parse(cidr) else {
                continue;
            };
            let mut networks = host.networks.iter();
            let collision = networks.find(|network| {
                let network = Range::parse(network);
                // Routes to the pods of other machines are ours.
                let is_inside = |network: Range| range.contains(network) && host.cluster.is_some();
                network.is_some_and(|network| network.overlaps(range) && !is_inside(network))
            });
            if let Some(network) = collision {
                let message = format!("spec.{field} {cidr} collides with {network} of the machine");
                self.add(check, message);
            }
        }
    }
}

/// Machines that must not be equal: what they have in common, and which ones. `machine` is compared with all others.
pub(super) fn duplicates(
    cluster: &Cluster,
    machine: &Machine,
    others: &[&Machine],
) -> Vec<Finding> {
    let facts = |machine: &Machine| machine.status.as_ref()?.facts.clone();
    let Some(own) = facts(machine) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for other in others
        .iter()
        .filter(|it| it.metadata.name != machine.metadata.name)
    {
        let Some(facts) = facts(other) else { continue };
        let pairs = [
            (
                "Hostname",
                "host name",
                own.hostname.to_lowercase(),
                facts.hostname.to_lowercase(),
            ),
            (
                "MachineID",
                "machine id",
                own.machine_id.clone(),
                facts.machine_id,
            ),
            (
                "ProductUUID",
                "product uuid",
                own.product_uuid.clone(),
                facts.product_uuid,
            ),
        ];
        for (check, what, own, other_value) in pairs {
            if own.is_empty() || own != other_value || is_ignored(cluster, check) {
                continue;
            }
            let name = other.metadata.name.as_deref().unwrap_or_default();
            findings.push(Finding {
                check: check.to_owned(),
                message: format!("has the {what} {own}, as {name} has"),
            });
        }
    }
    findings
}

/// The same for all pairs of machines, each of which is named once.
pub(super) fn all_duplicates(cluster: &Cluster, machines: &[&Machine]) -> Vec<Finding> {
    let pairs = machines.iter().enumerate();
    let findings = pairs.flat_map(|(index, machine)| {
        let name = machine.metadata.name.as_deref().unwrap_or_default();
        let findings = duplicates(cluster, machine, &machines[..index]).into_iter();
        findings.map(move |finding| Finding {
            message: format!("{name} {}", finding.message),
            ..finding
        })
    });
    findings.collect()
}

fn is_ignored(cluster: &Cluster, check: &str) -> bool {
    let ignored = &cluster.spec.ignore_preflight_errors;
    ignored.iter().any(|name| name.eq_ignore_ascii_case(check))
}

fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes < 10 * GIB => format!("{} MiB", bytes / MIB),
        bytes => format!("{} GiB", bytes / GIB),
    }
}

/// Fails with all findings about a machine, if there are any.
pub(super) fn result(findings: &[Finding]) -> Result<(), StepError> {
    text(findings).map_or(Ok(()), |text| Err(StepError::Preflight(text)))
}

/// The same for findings about several machines.
pub(super) fn cluster_result(findings: &[Finding]) -> Result<(), StepError> {
    text(findings).map_or(Ok(()), |text| Err(StepError::ClusterPreflight(text)))
}

fn text(findings: &[Finding]) -> Option<String> {
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    (!findings.is_empty()).then(|| findings.join("; "))
}

#[cfg(test)]
mod tests;
