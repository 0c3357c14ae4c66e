//! The Machine kind: one node of a cluster.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::flow_status::{DelegationLease, FlowStatus, HookStatus};
use crate::pattern::DNS_NAME;
use crate::redacted_bytes::RedactedBytes;
use crate::repository::SecretReference;

mod validation;

pub(crate) use validation::check_access;
pub use validation::validate;

/// The finalizer that keeps a Machine until it is removed from its cluster.
pub const FINALIZER: &str = "outrigger.dev/machine";

/// One node of a cluster, which is installed over SSH. The controller creates those of `spec.machines` of a Cluster; users
/// create those of workers.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource,
)]
#[kube(
    group = "outrigger.dev",
    version = "v1beta1",
    kind = "Machine",
    doc = "Machine is one node of a cluster.",
    plural = "machines",
    category = "outrigger",
    status = "MachineStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".spec.cluster"}"#,
    printcolumn = r#"{"name":"Role","type":"string","jsonPath":".spec.role"}"#,
    printcolumn = r#"{"name":"Address","type":"string","jsonPath":".spec.ip"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Step","type":"string","jsonPath":".status.flow.step"}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.message"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Name of the Cluster. Immutable
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_NAME))]
    pub cluster: String,
    /// Role in the cluster. Immutable
    #[serde(default)]
    pub role: MachineRole,
    /// How to connect to it. The IP address is immutable once it was reached
    #[serde(flatten)]
    pub access: MachineAccess,
}

/// What a machine does in its cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MachineRole {
    ControlPlane,
    #[default]
    Worker,
}

/// How to connect to a machine, and the labels and taints of its node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineAccess {
    /// IP address
    #[schemars(length(min = 2, max = 45))]
    pub ip: String,
    /// Port of the SSH server
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// User to log in as; commands of other users than root run through sudo
    #[serde(default = "default_username")]
    #[schemars(length(min = 1, max = 64))]
    pub username: String,
    /// Password, base64-encoded. Everybody who may read the object can read it: prefer `secretRef`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<RedactedBytes>,
    /// Private key in OpenSSH or PEM format, base64-encoded. Prefer `secretRef`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<RedactedBytes>,
    /// Passphrase of the private key, base64-encoded
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "passPhrase"
    )]
    pub passphrase: Option<RedactedBytes>,
    /// Secret with `password`, or `privateKey` and optionally `passPhrase`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Public host key, such as "ssh-ed25519 AAAA…". If unset, the key of the first connection is recorded in the status
    /// and required from then on
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
    /// Labels of the node
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Taints of the node
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub taints: Vec<Taint>,
    /// Jump host
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<JumpHost>,
}

impl Default for MachineAccess {
    fn default() -> Self {
        Self {
            ip: String::new(),
            port: default_port(),
            username: default_username(),
            password: None,
            private_key: None,
            passphrase: None,
            secret_ref: None,
            host_key: None,
            labels: BTreeMap::new(),
            taints: Vec::new(),
            proxy: None,
        }
    }
}

/// The credentials that are part of a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InlineCredentials<'a> {
    pub password: Option<&'a RedactedBytes>,
    pub private_key: Option<&'a RedactedBytes>,
    pub passphrase: Option<&'a RedactedBytes>,
}

impl<'a> InlineCredentials<'a> {
    /// Whether they are enough to log in.
    pub fn can_log_in(self) -> bool {
        self.password.is_some() || self.private_key.is_some()
    }

    /// All that are set.
    pub fn all(self) -> impl Iterator<Item = &'a RedactedBytes> {
        let all = [self.password, self.private_key, self.passphrase];
        all.into_iter().flatten()
    }
}

impl MachineAccess {
    /// The credentials of the machine itself.
    pub fn credentials(&self) -> InlineCredentials<'_> {
        InlineCredentials {
            password: self.password.as_ref(),
            private_key: self.private_key.as_ref(),
            passphrase: self.passphrase.as_ref(),
        }
    }

    /// The address, which belongs to at most one machine: `10.0.0.9:22`, or `[fd00::1]:22`.
    pub fn address(&self) -> String {
        address(&self.ip, self.port)
    }
}

fn address(ip: &str, port: u16) -> String {
    match ip.parse::<std::net::IpAddr>() {
        Ok(ip) => std::net::SocketAddr::new(ip.to_canonical(), port).to_string(),
        Err(_) => format!("{ip}:{port}"),
    }
}

/// The host through which a machine is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JumpHost {
    /// IP address
    #[schemars(length(min = 2, max = 45))]
    pub ip: String,
    /// Port of the SSH server
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// User to log in as
    #[serde(default = "default_username")]
    #[schemars(length(min = 1, max = 64))]
    pub username: String,
    /// Password, base64-encoded
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<RedactedBytes>,
    /// Private key, base64-encoded
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<RedactedBytes>,
    /// Passphrase of the private key, base64-encoded
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "passPhrase"
    )]
    pub passphrase: Option<RedactedBytes>,
    /// Secret with `password`, or `privateKey` and optionally `passPhrase`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Public host key. If unset, the key of the first connection is recorded in the status of the machine and required
    /// from then on
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
}

impl JumpHost {
    pub fn credentials(&self) -> InlineCredentials<'_> {
        InlineCredentials {
            password: self.password.as_ref(),
            private_key: self.private_key.as_ref(),
            passphrase: self.passphrase.as_ref(),
        }
    }

    /// IP address and port.
    pub fn address(&self) -> String {
        address(&self.ip, self.port)
    }
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taint {
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    pub effect: TaintEffect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

fn default_port() -> u16 {
    22
}

fn default_username() -> String {
    "root".to_owned()
}

/// The lifecycle phase of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MachinePhase {
    /// Waiting for its cluster
    #[default]
    Pending,
    Initializing,
    Running,
    Upgrading,
    /// Certificates are renewed
    Renewing,
    /// Restored from a backup
    Restoring,
    /// Gets other mirrors of registries
    Configuring,
    /// A step failed; the conditions have the reason
    Failed,
    Terminating,
}

/// The observed state of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default)]
    pub phase: MachinePhase,
    /// Why the machine is in this phase, if there is more to say
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// One condition for each step of the current flow; `Accepted` is False if the machine cannot take part in flows
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What is recorded about the current flow
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowStatus>,
    /// The last execution of each hook
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
    /// Address at which it was first reached. Its IP address cannot be changed any more
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Host key of the first connection
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
    /// Host key of the jump host at the first connection
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyStatus>,
    /// What is known about the machine
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<MachineFacts>,
}

/// The jump host of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyStatus {
    /// IP address and port
    pub address: String,
    /// Host key of the first connection, which is required from then on
    pub host_key: String,
}

/// What is known about a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineFacts {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    /// Identifies the installation of the operating system
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine_id: String,
    /// Identifies the hardware, if it tells
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        rename = "productUUID"
    )]
    pub product_uuid: String,
    #[serde(default)]
    pub os: String,
    #[serde(default)]
    pub architecture: String,
    #[serde(default)]
    pub kernel: String,
    #[serde(default)]
    pub cpus: u32,
    #[serde(default)]
    pub memory_bytes: u64,
    /// Free space of the root file system
    #[serde(default)]
    pub free_disk_bytes: u64,
}
