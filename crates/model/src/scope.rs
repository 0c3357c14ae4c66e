//! Which machines a contribution reaches.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::names::{InvalidName, PoolName};

/// What a machine does in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Runs etcd.
    Etcd,
    /// Runs the control plane.
    Controller,
    /// Runs workloads; belongs to a node pool.
    Worker,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Etcd, Self::Controller, Self::Worker];

    /// The name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Controller => "controller",
            Self::Worker => "worker",
        }
    }
}

/// The machines that a contribution is for. Written as `cluster`, `role/NAME` or `pool/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// The whole cluster, and every machine.
    Cluster,
    /// All machines of a role.
    Role(Role),
    /// The machines of one node pool.
    NodePool(PoolName),
}

impl Scope {
    /// The next wider scope, which reaches all machines of this one.
    pub const fn wider(&self) -> Option<Self> {
        match self {
            Self::Cluster => None,
            Self::Role(_) => Some(Self::Cluster),
            Self::NodePool(_) => Some(Self::Role(Role::Worker)),
        }
    }

    /// This scope and all wider ones, narrowest first.
    pub fn widening(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::wider)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Role(role) => write!(f, "role/{}", role.name()),
            Self::NodePool(pool) => write!(f, "pool/{pool}"),
        }
    }
}

/// Why a text is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidScope {
    /// Neither `cluster`, `role/…` nor `pool/…`.
    #[error(
        "unknown scope {0:?}: use cluster, role/etcd, role/controller, role/worker or pool/NAME"
    )]
    Unknown(String),
    /// The name of the node pool is invalid.
    #[error(transparent)]
    Pool(#[from] InvalidName),
}

impl FromStr for Scope {
    type Err = InvalidScope;

    fn from_str(text: &str) -> Result<Self, InvalidScope> {
        if text == "cluster" {
            return Ok(Self::Cluster);
        }
        if let Some(pool) = text.strip_prefix("pool/") {
            return Ok(Self::NodePool(pool.parse()?));
        }
        let role = text.strip_prefix("role/");
        let role = Role::ALL
            .into_iter()
            .find(|known| Some(known.name()) == role);
        role.map(Self::Role)
            .ok_or_else(|| InvalidScope::Unknown(text.to_owned()))
    }
}

impl TryFrom<String> for Scope {
    type Error = InvalidScope;

    fn try_from(text: String) -> Result<Self, InvalidScope> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

/// A kind of machine: a role, and for workers the node pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// An etcd member.
    Etcd,
    /// A machine of the control plane.
    Controller,
    /// A worker of a node pool.
    Worker(PoolName),
}

impl Placement {
    /// The role of the machine.
    pub const fn role(&self) -> Role {
        match self {
            Self::Etcd => Role::Etcd,
            Self::Controller => Role::Controller,
            Self::Worker(_) => Role::Worker,
        }
    }

    /// The narrowest scope that reaches exactly these machines.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Worker(pool) => Scope::NodePool(pool.clone()),
            _ => Scope::Role(self.role()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_written_as_they_are_read() {
        for text in [
            "cluster",
            "role/etcd",
            "role/controller",
            "role/worker",
            "pool/gpu",
        ] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        for text in ["", "role/", "role/master", "pool/", "pool/..", "node"] {
            assert!(text.parse::<Scope>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_node_pool_is_reached_by_its_own_the_workers_and_the_cluster_scope() {
        let pool: Scope = "pool/gpu".parse().unwrap();
        let scopes: Vec<String> = pool.widening().map(|scope| scope.to_string()).collect();
        assert_eq!(scopes, ["pool/gpu", "role/worker", "cluster"]);
    }
}
