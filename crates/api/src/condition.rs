//! Conditions of an object, as metav1.Condition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reason::Reason;

/// One aspect of the state of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition
    #[serde(rename = "type")]
    pub kind: String,
    /// Status of the condition
    pub status: ConditionStatus,
    /// Machine-readable reason of the last transition, in CamelCase
    pub reason: String,
    /// Human-readable details; never contains secret values
    #[serde(default)]
    pub message: String,
    /// Last time the status changed
    pub last_transition_time: String,
    /// Generation of the object that the condition describes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// Whether the reason is one of these.
    pub fn has_reason(&self, reasons: &[Reason]) -> bool {
        reasons.iter().any(|reason| self.reason == *reason)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}
