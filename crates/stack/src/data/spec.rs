//! The fields of `plugin.yaml`: kube-aws' form, and what it lacked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::executable::ExecutableSpec;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PluginFile {
    pub(super) metadata: MetadataSpec,
    #[serde(default)]
    pub(super) spec: Spec,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MetadataSpec {
    pub(super) name: String,
    pub(super) version: String,
    #[serde(default)]
    pub(super) description: String,
    /// Other keys in `cluster.yaml`.
    pub(super) cluster_settings_key: Option<String>,
    pub(super) node_pool_setting_key: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Spec {
    pub(super) enabled_by_default: bool,
    pub(super) requires: Vec<String>,
    pub(super) after: Vec<String>,
    pub(super) schema: Option<Value>,
    pub(super) executable: Option<ExecutableSpec>,
    pub(super) cluster: Cluster,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Cluster {
    pub(super) values: Map<String, Value>,
    pub(super) cloudformation: CloudFormation,
    pub(super) kubernetes: Kubernetes,
    pub(super) helm: Helm,
    pub(super) machine: Machine,
    pub(super) pki: Pki,
    pub(super) s3: S3,
}

impl Cluster {
    /// Whether it contributes something that no node pool has.
    pub(super) fn has_cluster_parts(&self) -> bool {
        let roles = &self.machine.roles;
        !self.kubernetes.manifests.is_empty()
            || !self.helm.releases.is_empty()
            || !self.kubernetes.apiserver.flags.is_empty()
            || roles.controller.is_some()
            || roles.etcd.is_some()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct CloudFormation {
    pub(super) stacks: Stacks,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Stacks {
    pub(super) root: StackSpec,
    pub(super) network: StackSpec,
    pub(super) control_plane: StackSpec,
    pub(super) etcd: StackSpec,
    pub(super) node_pool: StackSpec,
    /// Stacks that the plugin adds, by logical name.
    pub(super) additional: BTreeMap<String, AdditionalSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct StackSpec {
    pub(super) resources: FileSpec,
    pub(super) outputs: FileSpec,
    pub(super) parameters: FileSpec,
    pub(super) tags: FileSpec,
    pub(super) patches: Vec<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct AdditionalSpec {
    pub(super) depends_on: Vec<String>,
    pub(super) parameter_values: BTreeMap<String, Value>,
    pub(super) resources: FileSpec,
    pub(super) outputs: FileSpec,
    pub(super) parameters: FileSpec,
    pub(super) tags: FileSpec,
}

/// Where text comes from, and where it goes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct FileSpec {
    pub(super) path: Option<String>,
    pub(super) content: Option<String>,
    pub(super) template: Option<String>,
    pub(super) source: Option<Source>,
    pub(super) permissions: Option<u32>,
    #[serde(rename = "type")]
    pub(super) kind: FileType,
    /// The name of a unit or manifest.
    pub(super) name: Option<String>,
    /// Drop-ins, for units.
    pub(super) drop_ins: Vec<DropInSpec>,
    pub(super) enable: Option<bool>,
    pub(super) start: Option<bool>,
    pub(super) mask: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FileType {
    #[default]
    #[serde(rename = "")]
    Text,
    Binary,
    Credential,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Source {
    pub(super) path: Option<String>,
    pub(super) url: Option<String>,
    pub(super) sha256: Option<String>,
    /// The certificate of a key pair.
    pub(super) cert: Option<String>,
    /// The private key of a key pair.
    pub(super) key: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DropInSpec {
    pub(super) name: String,
    pub(super) content: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Kubernetes {
    pub(super) apiserver: ComponentSpec,
    pub(super) controller_manager: ComponentSpec,
    pub(super) kube_scheduler: ComponentSpec,
    pub(super) kubelet: ComponentSpec,
    pub(super) kube_proxy: ComponentSpec,
    pub(super) manifests: Vec<FileSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct ComponentSpec {
    pub(super) flags: Vec<FlagSpec>,
    pub(super) volumes: Vec<VolumeSpec>,
    pub(super) config: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FlagSpec {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct VolumeSpec {
    pub(super) name: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) read_only: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Helm {
    pub(super) releases: Vec<Map<String, Value>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Machine {
    pub(super) roles: Roles,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Roles {
    pub(super) controller: Option<RoleSpec>,
    pub(super) worker: Option<RoleSpec>,
    pub(super) etcd: Option<RoleSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RoleSpec {
    pub(super) files: Vec<FileSpec>,
    pub(super) systemd: Systemd,
    pub(super) iam: Iam,
    pub(super) kubelet: KubeletSpec,
    pub(super) kernel_settings: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Systemd {
    pub(super) units: Vec<FileSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Iam {
    pub(super) policy: Policy,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Policy {
    pub(super) statements: Vec<Map<String, Value>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct KubeletSpec {
    pub(super) node_labels: BTreeMap<String, Value>,
    pub(super) feature_gates: BTreeMap<String, Value>,
    pub(super) kubeconfig: Option<String>,
    pub(super) mounts: Vec<String>,
    pub(super) taints: Vec<Map<String, Value>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Pki {
    pub(super) keypairs: Vec<KeyPairSpec>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KeyPairSpec {
    pub(super) name: String,
    pub(super) common_name: String,
    pub(super) organization: Option<String>,
    pub(super) duration: String,
    #[serde(default)]
    pub(super) dns_names: Vec<String>,
    #[serde(default)]
    pub(super) ip_addresses: Vec<String>,
    #[serde(default)]
    pub(super) usages: Vec<String>,
    pub(super) signer: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct S3 {
    pub(super) files: Vec<FileSpec>,
}
