//! The CloudFormation stack that a construct belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::scope::{Role, Scope};

/// A stack of the cluster. Contributions to `nodePools` go to the stack of each pool that their scope reaches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StackName {
    /// The root, whose resources are the other stacks.
    Root,
    /// The network.
    Network,
    /// etcd.
    Etcd,
    /// The control plane.
    ControlPlane,
    /// The stacks of node pools.
    NodePools,
    /// A stack that a plugin adds.
    Additional(String),
}

impl StackName {
    /// Fails if a construct of this stack cannot have the scope.
    pub(super) fn check(&self, scope: &Scope) -> Result<(), String> {
        let is_for_pools = matches!(scope, Scope::NodePool(_) | Scope::Role(Role::Worker));
        match (self, scope) {
            (_, Scope::Cluster) => Ok(()),
            (Self::NodePools, _) if is_for_pools => Ok(()),
            (Self::NodePools, _) => Err("stacks of node pools have no such machines".to_owned()),
            _ => Err(
                "must have the scope cluster, because only nodePools is one stack per pool"
                    .to_owned(),
            ),
        }
    }
}

impl fmt::Display for StackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Network => "network",
            Self::Etcd => "etcd",
            Self::ControlPlane => "control-plane",
            Self::NodePools => "node-pools",
            Self::Additional(name) => name,
        })
    }
}

/// Fails unless the text is a logical name of CloudFormation: letters and digits.
pub(super) fn check_logical_name(name: &str) -> Result<(), String> {
    let is_valid = !name.is_empty()
        && name.len() <= 255
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_valid {
        Ok(())
    } else {
        Err("logical names consist of 1 to 255 letters and digits".to_owned())
    }
}
