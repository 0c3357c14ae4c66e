//! Identifies releases across clusters.

use outrigger_api::plugin::Plugin;

/// Helm's annotations that name the release an object belongs to.
pub(crate) const RELEASE_NAME: &str = "meta.helm.sh/release-name";
pub(crate) const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// A target cluster: the one that the controller runs in, or one given by a kubeconfig in a Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ClusterRef {
    Local,
    Remote {
        namespace: String,
        secret: String,
        key: String,
    },
}

impl ClusterRef {
    /// The cluster that the objects of a plugin are applied to.
    pub(crate) fn of(plugin: &Plugin) -> Self {
        match &plugin.spec.cluster {
            None => Self::Local,
            Some(cluster) => Self::Remote {
                namespace: plugin.namespace().to_owned(),
                secret: cluster.secret_name.clone(),
                key: plugin.kubeconfig_key().to_owned(),
            },
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
