//! Clusters and their machines: observed by watches, reconciled like plugins.
//!
//! A reconcile of a cluster covers its machines. It runs one pass of the flow that is due (`outrigger_flow::Runner`);
//! attempts run in tasks of their own, and enqueue the cluster again when they end.

mod delegations;
mod executor;
mod identities;
mod index;
mod kubeconfig;
mod objects;
mod reconcile;
mod remotes;
mod runs;
mod store;
mod tree;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use outrigger_cluster::{Connect, Providers, Ssh};

pub(crate) use identities::Identities;
pub(crate) use index::{ClusterIndex, Observed};
pub(crate) use reconcile::{Outcome, run};
pub use remotes::login;

/// How clusters and machines are reconciled.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The directory in which the sources of `spec.features.files` are. Without it, clusters cannot have files.
    pub files: Option<PathBuf>,
    /// How machines are connected to.
    pub connect: Arc<dyn Connect>,
    /// What installs machines.
    pub providers: Providers,
    /// The namespace of the Secrets with the kubeconfigs of clusters.
    pub namespace: String,
    /// How long another controller waits for this one, if there is no leader election.
    pub lease: Duration,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            files: None,
            connect: Arc::new(Ssh::default()),
            providers: Providers::default(),
            namespace: "default".to_owned(),
            lease: Duration::from_secs(15),
        }
    }
}
