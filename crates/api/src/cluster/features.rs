//! What can be added to a cluster: files, hooks, skipped and delegated steps.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::DURATION;

/// What is added to a cluster, and how it is brought up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Features {
    /// Files and folders that are copied to every machine, at the beginning of each flow
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["dst"]))]
    pub files: Vec<File>,
    /// Scripts on the machines, by the name of the hook. Each must be among the files
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "hooks")]
    pub hooks: BTreeMap<String, String>,
    /// Maximum duration of a hook, at most 8760h. Defaults to 10m
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION), length(max = 64))]
    pub hook_timeout: Option<String>,
    /// Maximum number of attempts at a hook. Defaults to 5
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub hook_attempts: Option<u32>,
    /// Steps that are not run
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub skip_conditions: Vec<String>,
    /// Steps that an external operator does
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub delegate_conditions: Vec<String>,
    /// The operator of delegated steps
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Delegation>,
    /// Whether pods may run on control-plane machines
    #[serde(default)]
    pub enable_master_schedule: bool,
    #[serde(default)]
    pub ipvs: bool,
    #[serde(default)]
    pub upgrade: Upgrade,
}

/// A file or folder that is copied to every machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Path in the files root: the folder of the manifest on the command line, `--files` of `serve`
    #[schemars(length(min = 1, max = 1024))]
    pub src: String,
    /// Absolute path on the machines
    #[schemars(length(min = 1, max = 1024))]
    pub dst: String,
    /// Whether a system path may be replaced
    #[serde(default)]
    pub force: bool,
}

/// The owner of delegations that name no operator.
pub const ANY_OPERATOR: &str = "an external operator";

/// The operator of delegated steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// Name of the operator, which waits are reported with
    #[schemars(length(min = 1, max = 253))]
    pub owner: String,
    /// How long a delegated step may take, at most 8760h. Defaults to 1h
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION), length(max = 64))]
    pub timeout: Option<String>,
}

/// How machines are upgraded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// Whether nodes are also drained before a new patch version. Before a new minor version they always are
    #[serde(default)]
    pub drain_node_before_upgrade: bool,
    /// Maximum number of workers that are upgraded at the same time. Defaults to 1. Control planes are upgraded one after
    /// the other
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_unavailable: Option<u32>,
}

/// Hooks by name. The rules of the definition list the names.
fn hooks(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 1024},
    })
}
