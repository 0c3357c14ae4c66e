//! How Kubernetes is configured: its network and kube-proxy.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

pub(super) fn arbitrary_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
