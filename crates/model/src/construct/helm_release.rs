//! A Helm release.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Construct, Sharing, cluster_only, require};
use crate::scope::Scope;
use crate::secret::SecretRef;

/// A Helm release that is installed when the cluster runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HelmRelease {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The repository: `https://`, `oci://`, or empty for a chart in the folder of the plugin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The chart.
    pub chart: String,
    /// The version: exact or a range.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The values.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// Values from secrets, by reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<ValuesFrom>,
}

/// Values that come from a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValuesFrom {
    /// The secret.
    pub secret: SecretRef,
    /// Where the value goes, such as `database.password`; without it, the secret is a values file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_path: Option<String>,
}

fn default_namespace() -> String {
    "kube-system".to_owned()
}

impl Construct for HelmRelease {
    const KIND: &'static str = "Helm release";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        cluster_only(scope)?;
        require("name", &self.name)?;
        require("chart", &self.chart)?;
        if self.name.len() > 53 {
            return Err("names of Helm releases have at most 53 characters".to_owned());
        }
        Ok(())
    }
}
