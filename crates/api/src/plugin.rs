//! The Plugin kind: one component of a cluster.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::pattern::{DNS_LABEL, DNS_NAME, DURATION};
use crate::values::MAX_PATH;

mod defaults;
pub(crate) mod rules;
mod validation;

pub use crate::field_error::FieldError;
pub use validation::validate;

/// The finalizer that keeps a Plugin until its release is removed.
pub const FINALIZER: &str = "outrigger.dev/plugin";

/// One component of a cluster: a Helm release, or objects that are applied without one. The controller installs it,
/// monitors its health, corrects drift and removes its objects when it is disabled or deleted.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource,
)]
#[kube(
    group = "outrigger.dev",
    version = "v1beta1",
    kind = "Plugin",
    doc = "Plugin is one component of a cluster, such as a Helm release.",
    plural = "plugins",
    shortname = "plg",
    category = "outrigger",
    namespaced,
    status = "PluginStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.version"}"#,
    printcolumn = r#"{"name":"App","type":"string","jsonPath":".status.appVersion","priority":1}"#,
    printcolumn = r#"{"name":"Namespace","type":"string","jsonPath":".status.namespace","priority":1}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct PluginSpec {
    /// Whether the plugin is installed. If false, its objects are removed and only the Plugin is kept
    #[serde(default = "default_enabled")]
    pub enabled: bool,
    /// How the objects are rendered and applied
    #[serde(default)]
    pub kind: PluginKind,
    /// Source of the chart: an https:// Helm repository, oci://, file://, the URL of an archive, or the name of a
    /// Repository. If empty, all repositories are searched in the order of their priorities
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Name of the chart. Defaults to the name of the plugin
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 250))]
    pub chart: Option<String>,
    /// Version or version range of the chart, such as ">=1.2, <2". Defaults to the newest version
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Directory inside the source
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Name of the release. Defaults to the name of the plugin. Immutable
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 53), regex(pattern = DNS_NAME))]
    pub release_name: Option<String>,
    /// Namespace of the release. Defaults to the namespace of the plugin. Immutable
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub install_namespace: Option<String>,
    /// Plugins that must be Ready before this one is installed or upgraded
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub dependencies: Vec<Dependency>,
    /// Values of the chart
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "arbitrary_object")]
    pub values: Map<String, Value>,
    /// Sources of further values, merged in this order; `values` override them
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub values_from: Vec<ValuesFrom>,
    /// Files that are added to the chart, or replace its own, before it is rendered
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_overrides: Vec<FileOverride>,
    /// Inline objects of a plugin of kind `manifests`, in addition to those of its source
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "objects")]
    pub resources: Vec<Value>,
    /// Cluster to install in. Defaults to the cluster that the controller runs in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterReference>,
    /// Registry that all images are rewritten to
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_registry: Option<String>,
    /// Service account in the namespace of the plugin that is impersonated to install it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_NAME))]
    pub service_account_name: Option<String>,
    /// Timeout for an installation or upgrade to become healthy, such as "5m"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION))]
    pub timeout: Option<String>,
    /// Maximum number of retries after a failure, with exponential backoff. Defaults to unlimited, or to none after a rollback
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Whether a failed upgrade is rolled back to the last successful revision
    #[serde(default)]
    pub rollback: bool,
    /// Number of revisions to keep. Defaults to 10
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub history: Option<u32>,
    /// What to do about drift: objects that others change or delete
    #[serde(default)]
    pub drift: Drift,
    /// What to do about fields of its objects that another field manager has changed
    #[serde(default)]
    pub conflicts: Conflicts,
    /// How custom resource definitions in the chart's directory `crds` are installed
    #[serde(default)]
    pub crds: CrdPolicy,
    /// Health rules for kinds that have no built-in rule
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<HealthRule>,
    /// Whether the plugin must not be disabled or removed
    #[serde(default)]
    pub required: bool,
}

/// How the objects of a plugin are rendered and applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    /// A chart that is installed as a Helm release, with hooks and history
    #[default]
    Helm,
    /// A chart whose objects are applied without a Helm release; hooks are rejected
    Template,
    /// YAML files and inline objects
    Manifests,
    /// A kustomization
    Kustomize,
}

/// A plugin that must be Ready first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Name of the plugin
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the plugin. Defaults to the namespace of the dependent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Version range that the installed chart must satisfy, such as ">=1.2, <2". Defaults to any version
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A source of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValuesFrom {
    pub kind: ValuesKind,
    /// Name of the ConfigMap or Secret, in the namespace of the plugin
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key whose value is a YAML document. Defaults to all keys, in alphabetical order
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
    /// Path that is set to the value of the key, such as "image.tag". The value is then a string, not YAML
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub target_path: Option<String>,
    /// If set, every key, prepended with this prefix, is a path, and its value is YAML. With prefix "global." the key
    /// `storageClass` sets `global.storageClass`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_PATH))]
    pub prefix: Option<String>,
    /// Whether the ConfigMap, Secret or key may be missing
    #[serde(default)]
    pub optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ValuesKind {
    ConfigMap,
    Secret,
}

/// A file that is added to a chart, or replaces one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileOverride {
    /// Path in the chart
    #[schemars(length(min = 1))]
    pub name: String,
    pub content: String,
}

/// A Cluster, or the Secret with the kubeconfig of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReference {
    /// Name of the Cluster, whose `spec.pluginNamespaces` must allow the namespace of the plugin. The plugin is deleted
    /// with it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Name of the Secret with the kubeconfig, in the namespace of the plugin
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: Option<String>,
    /// Key of the kubeconfig in the Secret. Defaults to `kubeconfig`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What to do about drift: objects that others change or delete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Drift {
    /// Apply the objects again
    #[default]
    Correct,
    /// Report it in the conditions
    Warn,
    /// Do not detect it
    Ignore,
}

/// What to do about fields that another field manager has changed, when the plugin is installed or upgraded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Conflicts {
    /// Fail, and name the fields and the manager, as Helm does
    #[default]
    Fail,
    /// Leave the fields to the other manager
    Keep,
    /// Take the fields over
    Take,
}

/// How custom resource definitions in the chart's directory `crds` are installed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CrdPolicy {
    /// Create missing ones, as Helm does
    #[default]
    Create,
    /// Create missing ones and update existing ones
    Replace,
    /// Do not install them
    Skip,
}

/// When objects of a kind are healthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthRule {
    #[schemars(length(min = 1))]
    pub api_version: String,
    #[schemars(length(min = 1))]
    pub kind: String,
    /// CEL expression over `self` that is true if the object is healthy
    #[schemars(length(min = 1))]
    pub healthy: String,
}

/// The lifecycle phase of a plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not reconciled yet
    #[default]
    Pending,
    /// Waiting for a dependency or a referenced object
    Waiting,
    Installing,
    Upgrading,
    /// Installed and healthy
    Ready,
    /// Installed, but not healthy
    Degraded,
    /// Failed; the conditions have the reason
    Failed,
    /// Disabled, and all its objects removed
    Disabled,
    Removing,
}

/// The observed state of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Generation whose spec the installed release has
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed_generation: Option<i64>,
    #[serde(default)]
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Name of the installed chart
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// Version of the installed chart
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// Namespace of the installed release
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the installed release
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_name: Option<String>,
    /// Cluster that the plugin is installed in, if it is not the one that the controller runs in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterReference>,
    /// Kind that the plugin was installed as
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PluginKind>,
    /// Revision of the release
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Resource version of the release record when it was last written or checked
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_version: Option<String>,
    /// Digest of all inputs of the installed revision
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<String>,
    /// Digest of all inputs of the last attempt, if it failed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_digest: Option<String>,
    /// Digest of the chart archive
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_digest: Option<String>,
    /// Number of attempts since the last success
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Objects that the plugin applied
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inventory: Vec<InventoryEntry>,
    /// Rendered NOTES.txt of the chart
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Value of the annotation `outrigger.dev/reconcile` that was handled last
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile_handled: Option<String>,
    /// For plugins that render plugins: the number of rendered plugins by phase
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, u32>,
}

/// One object that a plugin applied.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct InventoryEntry {
    pub api_version: String,
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    /// Whether the object is kept when the plugin is removed
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep: bool,
    /// Digest of the set of fields that the plugin owned after the last apply
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<String>,
}

fn default_enabled() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

pub(crate) fn arbitrary_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true},
    })
}
