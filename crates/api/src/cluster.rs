//! The Cluster kind: a Kubernetes cluster on machines that are reached over SSH.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::flow_status::{DelegationLease, FlowStatus, HookStatus};
use crate::machine::MachineAccess;
use crate::pattern::{DNS_LABEL_OR_ALL, VERSION_OR_EMPTY};
use crate::repository::SecretReference;

mod features;
mod kubernetes;
pub(crate) mod rules;
mod validation;

pub use features::{ANY_OPERATOR, Delegation, Features, File, Upgrade};
pub use kubernetes::{ALL_REGISTRIES, KubeProxy, KubeProxyMode, PodNetwork, RegistryMirror};
pub(crate) use validation::{SYSTEM_PATHS, SYSTEM_TREES};
pub use validation::{check_destination, is_system_path, validate};

/// The key of a kubeconfig in its Secret.
pub const KUBECONFIG_KEY: &str = "kubeconfig";

/// The item of `spec.pluginNamespaces` that allows all namespaces.
pub const ALL_NAMESPACES: &str = "*";

/// The finalizer that keeps a Cluster until it is removed from its machines.
pub const FINALIZER: &str = "outrigger.dev/cluster";

/// A Kubernetes cluster. The controller brings it up in named steps on its machines, upgrades and removes it, and runs
/// the hooks of the admin.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource,
)]
#[kube(
    group = "outrigger.dev",
    version = "v1beta1",
    kind = "Cluster",
    doc = "Cluster is a Kubernetes cluster on machines that are reached over SSH.",
    plural = "clusters",
    shortname = "cls",
    category = "outrigger",
    status = "ClusterStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Type","type":"string","jsonPath":".spec.type"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.version"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Step","type":"string","jsonPath":".status.flow.step"}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.message"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// How the cluster comes to be. Immutable
    #[serde(default, rename = "type")]
    pub kind: ClusterType,
    /// Name for people
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Version of Kubernetes, such as 1.34.1. A later version upgrades the cluster; an older one is refused unless the
    /// annotation `outrigger.dev/allow-downgrade` has it
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64), regex(pattern = VERSION_OR_EMPTY))]
    pub version: String,
    /// The provider that installs the machines: `baremetal`, or `stand-in`, the default, which installs nothing
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Addresses of pods
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "clusterCIDR"
    )]
    pub cluster_cidr: Option<String>,
    /// Addresses of services
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "serviceCIDR"
    )]
    pub service_cidr: Option<String>,
    /// Domain of services
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "dnsDomain")]
    pub dns_domain: Option<String>,
    /// Host and port of the API server, such as that of a load balancer. Defaults to port 6443 of the first machine
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 260))]
    pub control_plane_endpoint: Option<String>,
    /// How pods on different machines reach each other
    #[serde(default)]
    pub pod_network: PodNetwork,
    #[serde(default)]
    pub kube_proxy: KubeProxy,
    /// Fields of the `KubeletConfiguration` of all machines
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "kubernetes::arbitrary_object")]
    pub kubelet_config: Map<String, Value>,
    /// Registries that machines pull images from in place of others. A change reaches all machines
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["registry"]))]
    pub registry_mirrors: Vec<RegistryMirror>,
    /// Preflight checks whose findings are ignored, of the provider or of kubeadm, such as `Swap`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub ignore_preflight_errors: Vec<String>,
    /// Network device of the machines
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_device: Option<String>,
    /// Further names and addresses of the API server
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public_alternative_names: Vec<String>,
    /// The control plane, at most 100 machines. Workers are objects of kind Machine
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["ip", "port"]))]
    pub machines: Vec<MachineAccess>,
    /// Secret with the kubeconfig of an imported cluster
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_ref: Option<SecretReference>,
    /// Namespaces whose plugins may target this cluster by name, with the rights of its kubeconfig; `*` for all. Defaults to
    /// the namespace of the Secret with the kubeconfig
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), inner(length(min = 1, max = 63), regex(pattern = DNS_LABEL_OR_ALL)))]
    pub plugin_namespaces: Vec<String>,
    #[serde(default)]
    pub features: Features,
    /// Arguments of the container runtime
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub container_runtime_extra_args: BTreeMap<String, String>,
    /// Arguments of kubelets
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kubelet_extra_args: BTreeMap<String, String>,
    /// Arguments of API servers
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        rename = "apiServerExtraArgs"
    )]
    pub api_server_extra_args: BTreeMap<String, String>,
    /// Arguments of controller managers
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub controller_manager_extra_args: BTreeMap<String, String>,
    /// Arguments of schedulers
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheduler_extra_args: BTreeMap<String, String>,
}

impl Cluster {
    /// The Secret with the kubeconfig, if there is one: that of an imported cluster, or the one that the provider wrote.
    pub fn kubeconfig_secret_ref(&self) -> Option<&SecretReference> {
        let installed = || self.status.as_ref()?.kubeconfig_secret_ref.as_ref();
        self.spec.kubeconfig_secret_ref.as_ref().or_else(installed)
    }
}

/// How a cluster comes to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClusterType {
    /// Installed on the machines of the spec
    #[default]
    Baremetal,
    /// Exists already, and is reached with a kubeconfig
    Imported,
    /// The embedded API server
    Embedded,
    /// Delivered by CloudFormation
    #[serde(rename = "AWS")]
    Aws,
}

/// The lifecycle phase of a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClusterPhase {
    /// Not reconciled yet
    #[default]
    Pending,
    Initializing,
    Running,
    Upgrading,
    Upscaling,
    Downscaling,
    /// Certificates are renewed
    Renewing,
    /// Restored from a backup
    Restoring,
    /// Machines get other mirrors of registries
    Configuring,
    /// A step failed, or the spec is invalid; the conditions have the reason
    Failed,
    Terminating,
}

/// The observed state of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default)]
    pub phase: ClusterPhase,
    /// Why the cluster is in this phase, if there is more to say
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// One condition for each step of the cluster in the current flow, and `Accepted`: whether the spec is valid
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What is recorded about the current flow
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowStatus>,
    /// The last execution of each hook of the cluster
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub hooks: Vec<HookStatus>,
    /// Operators that work on delegated steps
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["step"]))]
    pub delegations: Vec<DelegationLease>,
    /// Version of Kubernetes that was installed last
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Secret with the kubeconfig of the cluster, which the provider wrote
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_ref: Option<SecretReference>,
    /// Host and port of the API server that the cluster was created with, which it keeps
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<String>,
    /// Requests that were handled last, by flow: values of annotations such as `outrigger.dev/renew-certificates`
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
    /// Number of machines by phase
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, u32>,
}
