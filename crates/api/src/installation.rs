//! The Installation kind: what the installer brings to a site, and how far it got.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::flow_status::{FlowStatus, HookStatus};
use crate::plugin::arbitrary_object;

/// One run of the installer: the first cluster, and the expansion package that extends it. Its steps are those of
/// [`crate::step::installer`].
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource,
)]
#[kube(
    group = "outrigger.dev",
    version = "v1beta1",
    kind = "Installation",
    doc = "Installation is one run of the installer.",
    plural = "installations",
    category = "outrigger",
    status = "InstallationStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".spec.cluster"}"#,
    printcolumn = r#"{"name":"Package","type":"string","jsonPath":".spec.package.name"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Step","type":"string","jsonPath":".status.flow.step"}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.message"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct InstallationSpec {
    /// Name of the Cluster that is created
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The expansion package; unset without one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageSource>,
    /// The configuration that the package was merged into
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigurationSource>,
    /// Hooks that run on the machine of the installer, in their order
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// Ids of the steps that are skipped
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip_steps: Vec<String>,
    /// Values of the site, which override those of the package
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "arbitrary_object")]
    pub values: Map<String, Value>,
}

/// Where a package was read from, and which one it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageSource {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Path of the folder or file
    pub source: String,
    /// Digest of the root document; unset for a folder
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Keys whose signatures count
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed_by: Vec<String>,
}

/// Where a configuration was read from. Its content may have credentials, and is in the Cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationSource {
    /// Path of the file
    pub source: String,
    /// Digest of the effective configuration
    pub digest: String,
}

/// The phases of an installation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InstallationPhase {
    #[default]
    Pending,
    Installing,
    Installed,
    Failed,
}

impl InstallationPhase {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Installing => "Installing",
            Self::Installed => "Installed",
            Self::Failed => "Failed",
        }
    }
}

/// How far an installation got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallationStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default)]
    pub phase: InstallationPhase,
    /// What the current step does or why it failed
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// One for each step that has begun; the type is the id of the step
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The record from which the installer resumes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowStatus>,
    /// The last execution of each hook
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub hooks: Vec<HookStatus>,
    /// Address of the registry of the installer
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// What the steps added
    #[serde(default)]
    pub inventory: Inventory,
}

/// What an installation added to the site, so that it can be shown and taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// Images in the registry, with digests
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Charts in the registry, such as `web-1.0.0`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<String>,
    /// Paths on the machine of the installer
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Plugins, as `NAMESPACE/NAME`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
}

impl Installation {
    /// An installation with this name, of which nothing is known yet.
    pub fn default_named(name: &str) -> Self {
        Self::new(name, InstallationSpec::default())
    }
}
