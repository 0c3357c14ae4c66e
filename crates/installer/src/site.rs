//! The port to clusters: what an installation asks of the controller that runs beside it.

use std::fmt::Debug;

use futures::future::BoxFuture;
use outrigger_api::plugin::Plugin;

use crate::contents::SiteCluster;

/// What creates clusters and installs plugins. All calls may be repeated, also after they were done.
pub trait Site: Debug + Send + Sync {
    /// Creates the cluster, and returns when it runs, or why it does not.
    fn create_cluster<'a>(&'a self, cluster: &'a SiteCluster) -> BoxFuture<'a, Result<(), String>>;

    /// The kubeconfig of the cluster that was created.
    fn kubeconfig<'a>(&'a self, cluster: &'a str) -> BoxFuture<'a, Result<String, String>>;

    /// Makes the charts of a registry available to plugins.
    fn add_repository<'a>(
        &'a self,
        name: &'a str,
        url: &'a str,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Applies plugins, and returns when all are Ready, or why one is not.
    fn install_plugins<'a>(
        &'a self,
        cluster: Option<&'a str>,
        plugins: &'a [Plugin],
    ) -> BoxFuture<'a, Result<(), String>>;
}
