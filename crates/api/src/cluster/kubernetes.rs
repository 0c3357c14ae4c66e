//! How Kubernetes is configured: its network, kube-proxy, and the registries of its images.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::repository::SecretReference;

/// How pods on different machines reach each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PodNetwork {
    /// A bridge on each machine, and a static route to each other machine. For machines on one network
    #[default]
    Routes,
    /// A plugin brings the network. Machines are not waited for until they are ready
    None,
}

/// How kube-proxy directs traffic to Services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeProxy {
    #[serde(default)]
    pub mode: KubeProxyMode,
    /// Further fields of the `KubeProxyConfiguration`
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "arbitrary_object")]
    pub config: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KubeProxyMode {
    #[default]
    Iptables,
    Nftables,
}

/// The registry of a mirror for all registries that have none of their own.
pub const ALL_REGISTRIES: &str = "*";

/// A registry that machines pull images from in place of another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryMirror {
    /// Registry in the names of images, such as registry.k8s.io; `*` for all that have no mirror of their own
    #[schemars(length(min = 1, max = 260))]
    pub registry: String,
    /// Address of the mirror, such as `https://registry.example.com:5000`. A path comes before the names of images
    #[schemars(length(min = 1, max = 1024))]
    pub url: String,
    /// Certificates of the authorities that its certificate is signed by, in PEM format, if machines do not trust them already
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub ca_certificate: Option<String>,
    /// Secret with `username` and `password`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
}

pub(super) fn arbitrary_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
