//! The configuration files of kubeadm: pure functions of the spec.

use std::collections::BTreeMap;

use outrigger_api::cluster::{Cluster, KubeProxyMode};
use outrigger_api::machine::{Machine, MachineRole};
use serde_json::{Map, Value, json};

use super::network::{dns_domain, endpoint, endpoint_host, pod_cidr, service_cidr};
use crate::lifecycle::plain_version;

const API: &str = "kubeadm.k8s.io/v1beta4";
/// The socket of the container runtime.
pub(super) const CRI_SOCKET: &str = "unix:///run/containerd/containerd.sock";
const API_PORT: u16 = 6443;

/// What a machine needs to join a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) token: String,
    /// Decrypts the certificates that control planes share.
    pub(super) certificate_key: Option<String>,
}

/// The configuration of `kubeadm init`.
pub(super) fn init(cluster: &Cluster, machine: &Machine) -> String {
    let init = json!({
        "apiVersion": API, "kind": "InitConfiguration",
        "localAPIEndpoint": local_endpoint(machine),
        "nodeRegistration": registration(cluster, machine),
    });
    documents(&[
        init,
        cluster_configuration(cluster),
        kubelet(cluster),
        kube_proxy(cluster),
    ])
}

/// The configuration of `kubeadm join`. `discovery` is the path of a kubeconfig with the CA of the cluster.
pub(super) fn join(
    cluster: &Cluster,
    machine: &Machine,
    discovery: &str,
    ticket: &Ticket,
) -> String {
    let mut join = json!({
        "apiVersion": API, "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": discovery}, "tlsBootstrapToken": ticket.token},
        "nodeRegistration": registration(cluster, machine),
    });
    if machine.spec.role == MachineRole::ControlPlane {
        let mut control_plane = json!({"localAPIEndpoint": local_endpoint(machine)});
        if let Some(key) = &ticket.certificate_key {
            control_plane["certificateKey"] = json!(key);
        }
        join["controlPlane"] = control_plane;
    }
    documents(&[join])
}

/// The configuration of `kubeadm upgrade apply` and `kubeadm upgrade node`.
pub(super) fn upgrade(cluster: &Cluster) -> String {
    let ignored = &cluster.spec.ignore_preflight_errors;
    let node = json!({"ignorePreflightErrors": ignored, "imagePullPolicy": "IfNotPresent"});
    let mut apply = node.clone();
    apply["kubernetesVersion"] = json!(kubernetes_version(cluster));
    documents(&[json!({
        "apiVersion": API, "kind": "UpgradeConfiguration", "apply": apply, "node": node,
    })])
}

fn kubernetes_version(cluster: &Cluster) -> String {
    format!("v{}", plain_version(&cluster.spec.version))
}

fn local_endpoint(machine: &Machine) -> Value {
    json!({"advertiseAddress": machine.spec.access.ip, "bindPort": API_PORT})
}

fn registration(cluster: &Cluster, machine: &Machine) -> Value {
    let mut arguments = cluster.spec.kubelet_extra_args.clone();
    arguments
        .entry("node-ip".to_owned())
        .or_insert_with(|| machine.spec.access.ip.clone());
    let mut registration = json!({
        "criSocket": CRI_SOCKET,
        "imagePullPolicy": "IfNotPresent",
        "kubeletExtraArgs": extra_args(&arguments),
    });
    let ignored = &cluster.spec.ignore_preflight_errors;
    if !ignored.is_empty() {
        registration["ignorePreflightErrors"] = json!(ignored);
    }
    // Taints of the spec are set when the node is ready. Without a list kubeadm taints control planes.
    let is_control_plane = machine.spec.role == MachineRole::ControlPlane;
    if is_control_plane && cluster.spec.features.enable_master_schedule {
        registration["taints"] = json!([]);
    }
    registration
}

fn cluster_configuration(cluster: &Cluster) -> Value {
    let spec = &cluster.spec;
    let mut names: Vec<String> = spec.public_alternative_names.clone();
    names.push(endpoint_host(cluster));
    names.sort();
    names.dedup();
    let component = |arguments: &BTreeMap<String, String>| {
        if arguments.is_empty() {
            json!({})
        } else {
            json!({"extraArgs": extra_args(arguments)})
        }
    };
    let mut api_server = component(&spec.api_server_extra_args);
    api_server["certSANs"] = json!(names);
    json!({
        "apiVersion": API, "kind": "ClusterConfiguration",
        "kubernetesVersion": kubernetes_version(cluster),
        "clusterName": cluster.metadata.name,
        "controlPlaneEndpoint": endpoint(cluster),
        "networking": {
            "podSubnet": pod_cidr(cluster),
            "serviceSubnet": service_cidr(cluster),
            "dnsDomain": dns_domain(cluster),
        },
        "apiServer": api_server,
        "controllerManager": component(&spec.controller_manager_extra_args),
        "scheduler": component(&spec.scheduler_extra_args),
    })
}

fn kubelet(cluster: &Cluster) -> Value {
    let defaults = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
    });
    merged(defaults, &cluster.spec.kubelet_config)
}

fn kube_proxy(cluster: &Cluster) -> Value {
    let proxy = &cluster.spec.kube_proxy;
    let mode = match proxy.mode {
        KubeProxyMode::Iptables => "iptables",
        KubeProxyMode::Nftables => "nftables",
    };
    let defaults = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "mode": mode,
    });
    merged(defaults, &proxy.config)
}

/// Fields of the spec replace the defaults, objects as a whole.
fn merged(mut defaults: Value, fields: &Map<String, Value>) -> Value {
    for (name, value) in fields {
        defaults[name] = value.clone();
    }
    defaults
}

fn extra_args(arguments: &BTreeMap<String, String>) -> Value {
    let arguments = arguments.iter();
    arguments
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect()
}

fn documents(documents: &[Value]) -> String {
    let texts: Vec<String> = documents
        .iter()
        .map(|document| {
            let text = outrigger_goyaml::write_json(document);
            String::from_utf8_lossy(&text).into_owned()
        })
        .collect();
    texts.join("---\n")
}

#[cfg(test)]
mod tests;
