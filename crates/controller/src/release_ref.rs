//! Identifies releases across clusters.

use std::fmt;

use outrigger_api::plugin::Plugin;

/// Helm's annotations that name the release an object belongs to.
pub(crate) const RELEASE_NAME: &str = "meta.helm.sh/release-name";
pub(crate) const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// A target cluster: the one that the controller runs in, one given by a kubeconfig in a Secret, or a Cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterRef {
    Local,
    Remote {
        namespace: String,
        secret: String,
        key: String,
    },
    /// A Cluster by its name.
    Named(String),
}

impl fmt::Display for ClusterRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("the local cluster"),
            Self::Remote {
                namespace, secret, ..
            } => write!(f, "the cluster of Secret {namespace}/{secret}"),
            Self::Named(name) => write!(f, "cluster {name}"),
        }
    }
}

impl ClusterRef {
    /// The cluster that the objects of a plugin are applied to.
    pub(crate) fn of(plugin: &Plugin) -> Self {
        let Some(cluster) = &plugin.spec.cluster else {
            return Self::Local;
        };
        match cluster.secret() {
            Some(secret) => Self::Remote {
                namespace: plugin.namespace().to_owned(),
                secret: secret.to_owned(),
                key: plugin.kubeconfig_key().to_owned(),
            },
            None => Self::Named(cluster.name.clone().unwrap_or_default()),
        }
    }
}

/// A release in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ReleaseRef {
    pub(crate) cluster: ClusterRef,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ReleaseRef {
    pub(crate) fn of(plugin: &Plugin) -> Self {
        Self {
            cluster: ClusterRef::of(plugin),
            namespace: plugin.release_namespace().to_owned(),
            name: plugin.release_name().to_owned(),
        }
    }
}
