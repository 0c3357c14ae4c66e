//! The Kubernetes components that have flags, volumes and settings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::scope::{Role, Scope};

/// A Kubernetes component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The API server.
    KubeApiserver,
    /// The controller manager.
    KubeControllerManager,
    /// The scheduler.
    KubeScheduler,
    /// The kubelet.
    Kubelet,
    /// kube-proxy.
    KubeProxy,
}

impl Component {
    /// The name of the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
        }
    }

    /// Whether it runs on each node; the others run on the control plane only.
    const fn runs_on_nodes(self) -> bool {
        matches!(self, Self::Kubelet | Self::KubeProxy)
    }

    /// Fails if the component does not run on the machines of the scope.
    pub(super) fn check(self, scope: &Scope) -> Result<(), String> {
        match scope {
            Scope::Cluster | Scope::Role(Role::Controller) => Ok(()),
            Scope::Role(Role::Worker) | Scope::NodePool(_) if self.runs_on_nodes() => Ok(()),
            _ => Err(format!("{self} does not run on the machines of {scope}")),
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
