//! A taint of nodes.

use serde::{Deserialize, Serialize};

use super::node_label::{check_key, check_value, is_node};
use super::{Construct, Sharing};
use crate::scope::Scope;

/// A taint of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeTaint {
    /// The key.
    pub key: String,
    /// The value.
    #[serde(default)]
    pub value: String,
    /// The effect on pods.
    pub effect: TaintEffect,
}

/// The effect of a taint on pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaintEffect {
    /// Not scheduled.
    NoSchedule,
    /// Not scheduled if possible.
    PreferNoSchedule,
    /// Evicted.
    NoExecute,
}

impl Construct for NodeTaint {
    const KIND: &'static str = "node taint";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        format!("{}:{:?}", self.key, self.effect)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        check_key(&self.key)?;
        check_value(&self.value)?;
        is_node(scope)
    }
}
