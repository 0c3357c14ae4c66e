//! The Repository kind: a source of charts.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::pattern::REPOSITORY_URL;

/// A source of charts. If several repositories have a chart, the one with the lowest priority value is used.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, CustomResource,
)]
#[kube(
    group = "outrigger.dev",
    version = "v1beta1",
    kind = "Repository",
    doc = "Repository is a source of charts.",
    plural = "repositories",
    category = "outrigger",
    status = "RepositoryStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"URL","type":"string","jsonPath":".spec.url"}"#,
    printcolumn = r#"{"name":"Priority","type":"integer","jsonPath":".spec.priority"}"#,
    printcolumn = r#"{"name":"Charts","type":"integer","jsonPath":".status.chartCount"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct RepositorySpec {
    /// URL: https:// or http:// of a Helm repository, file:// of a directory with charts, or oci://
    #[schemars(regex(pattern = REPOSITORY_URL))]
    pub url: String,
    /// Priority among repositories with the same chart; the lowest value is used
    #[serde(default)]
    pub priority: i32,
    /// Secret with `username` and `password` or `token`, and for TLS `ca.crt`, `tls.crt`, `tls.key`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Whether the charts are addons of the platform
    #[serde(default)]
    pub system: bool,
}

/// A Secret by name and namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
}

/// The observed state of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Number of charts
    #[serde(default)]
    pub chart_count: u32,
    /// Charts with their newest versions, at most 500
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<ChartVersions>,
    /// Digest of the index that the charts were read from
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_digest: Option<String>,
    /// Value of the annotation `outrigger.dev/refresh` that was handled last
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_handled: Option<String>,
}

/// A chart and its newest versions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChartVersions {
    pub name: String,
    pub versions: Vec<String>,
}
