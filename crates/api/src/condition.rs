//! Conditions: what is true of an object, since when, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One fact about an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What the fact is about
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds
    pub status: Truth,
    /// One word for machines
    pub reason: String,
    /// A sentence for people; never has secret values
    #[serde(default)]
    pub message: String,
    /// When the status changed last
    pub last_transition_time: String,
    /// The generation of the object that this is about
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Truth {
    True,
    False,
    Unknown,
}
