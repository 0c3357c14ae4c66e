//! Plugin: one component of a cluster, switched on and off.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::pattern::{DNS_LABEL, DNS_NAME, DURATION};

mod check;
mod effective;
pub(crate) mod rules;

pub use check::{Problem, check};

/// The finalizer that keeps a Plugin until what it added is gone.
pub const FINALIZER: &str = "outrigger.dev/plugin";

/// One component of a cluster: a chart, plain manifests, or a chart whose objects are applied one by one. It is kept
/// installed, healthy and free of leftovers; switched off, all that it added goes.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource,
)]
#[kube(
    group = "outrigger.dev",
    version = "v1beta1",
    kind = "Plugin",
    doc = "One component of a cluster, switched on and off.",
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
    /// Whether it is installed. Switched off, all that it added is removed and this object stays.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How it is made into objects
    #[serde(default)]
    pub kind: PluginKind,
    /// Where the chart is: an https:// Helm repository, oci://, file://, the URL of an archive, or the name of a
    /// Repository. Empty: the repositories in the order of their priorities
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The name of the chart; that of this object if empty
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 250))]
    pub chart: Option<String>,
    /// An exact version or a range such as ">=1.2, <2"; the newest if empty
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A folder inside the archive or folder
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The name of the release; that of this object if empty. Cannot be changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 53), regex(pattern = DNS_NAME))]
    pub release_name: Option<String>,
    /// The namespace of the release; that of this object if empty. Cannot be changed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub install_namespace: Option<String>,
    /// Plugins that must be Ready before this one is installed or changed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub dependencies: Vec<Dependency>,
    /// Values for the chart
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "anything")]
    pub values: Map<String, Value>,
    /// More values, merged before `values`, in this order
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub values_from: Vec<ValuesFrom>,
    /// Files that are put into the chart before it is rendered, in place of its own of the same name
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_overrides: Vec<FileOverride>,
    /// Objects of a plugin of kind `manifests`, besides those of its files
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "objects")]
    pub resources: Vec<Value>,
    /// The cluster to install into, by the Secret with its kubeconfig; empty: where the controller runs
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterReference>,
    /// The registry that all images are taken from, in place of the one they name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_registry: Option<String>,
    /// The service account, in the namespace of this object, that the work is done as
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// How long installing may take until healthy, such as "5m"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION))]
    pub timeout: Option<String>,
    /// How often a failure is tried again; for ever if empty, with growing pauses
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Whether a failed change goes back to the last good revision
    #[serde(default)]
    pub rollback: bool,
    /// How many revisions are kept; 10 if empty
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub history: Option<u32>,
    /// What to do when somebody else changes or removes what this plugin added
    #[serde(default)]
    pub drift: Drift,
    /// What to do with custom resource definitions in the chart's folder `crds`
    #[serde(default)]
    pub crds: CrdPolicy,
    /// When objects of a kind count as healthy, besides the rules that are built in
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<HealthRule>,
    /// Whether it must not be switched off or removed
    #[serde(default)]
    pub required: bool,
}

/// How a plugin is made into objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    /// A chart, installed as a Helm release with hooks and history
    #[default]
    Helm,
    /// A chart whose objects are applied without a Helm release; hooks are refused
    Template,
    /// YAML files and inline objects, applied as they are
    Manifests,
    /// A kustomization
    Kustomize,
}

/// A plugin that must be Ready first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Its name
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; the same if empty
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The versions that will do, such as ">=1.2, <2"; any if empty
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A source of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValuesFrom {
    pub kind: ValuesKind,
    /// Its name, in the namespace of the plugin
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key whose value is a YAML document; every key if empty, in the order of their names
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
    /// Where the value goes, such as "image.tag". The value is then taken as a text, not as YAML
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub target_path: Option<String>,
    /// With this, each key is a path such as "prometheus.address" behind this text, and its value is YAML. "global."
    /// puts key `storageClass` to `global.storageClass`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Whether it may be missing
    #[serde(default)]
    pub optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ValuesKind {
    ConfigMap,
    Secret,
}

/// A file of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileOverride {
    /// Its path in the chart
    #[schemars(length(min = 1))]
    pub name: String,
    pub content: String,
}

/// The Secret with the kubeconfig of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReference {
    /// The name of the Secret, in the namespace of the plugin
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
    /// Its key; `kubeconfig` if empty
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What to do when somebody else changes what a plugin added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Drift {
    /// Put it right
    #[default]
    Correct,
    /// Say so
    Warn,
    /// Nothing
    Ignore,
}

/// What to do with custom resource definitions in the chart's folder `crds`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CrdPolicy {
    /// Create those that are missing, as Helm does
    #[default]
    Create,
    /// Also bring those that are there up to date
    Replace,
    /// Leave them out
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
    /// A CEL expression over `self`, true when it is healthy
    #[schemars(length(min = 1))]
    pub healthy: String,
}

/// Where a plugin is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not looked at yet
    #[default]
    Pending,
    /// Waits for a dependency or for something it refers to
    Waiting,
    Installing,
    Upgrading,
    /// Installed and healthy
    Ready,
    /// Installed, but something is not healthy
    Degraded,
    /// Did not work; see the conditions
    Failed,
    /// Switched off, nothing is left of it
    Disabled,
    Removing,
}

/// What the controller found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default)]
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The version of the chart that is installed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// The namespace and name of the release that is installed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_name: Option<String>,
    /// The cluster that it is installed in, if that is not the one where the controller runs
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterReference>,
    /// The kind that is installed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PluginKind>,
    /// The revision of the release
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// The digest of all that went into what is installed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<String>,
    /// The digest of the chart's archive
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_digest: Option<String>,
    /// Attempts since the last success
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// What the plugin added
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inventory: Vec<InventoryEntry>,
    /// The chart's own words on what to do next
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// For plugins that render plugins: how many of them are in which phase
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, u32>,
}

/// One object that a plugin added.
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
    /// Whether it stays when the plugin goes
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep: bool,
    /// The digest of the names of the fields that are the plugin's, as they were when it was applied last
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<String>,
}

fn yes() -> bool {
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

fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true},
    })
}
