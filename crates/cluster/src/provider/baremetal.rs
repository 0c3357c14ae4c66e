//! The provider `baremetal`: Kubernetes by kubeadm, from a provider folder, over SSH.
//!
//! Each step is a small file with its plan and its effect. What runs on machines are the POSIX shell scripts in `scripts`;
//! `prelude.sh` has what they share. A machine records in `/var/lib/outrigger/node` what was installed on it, and what was
//! there before, so that it can be removed without the spec.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

use super::Provider;
use crate::Step;
use crate::lifecycle::{is_deleted, plain_version};

pub(crate) mod backup;
mod control_plane;
mod etcd;
mod files;
mod host_facts;
mod kubeadm_config;
mod network;
mod preflight;
mod registry_hosts;
mod steps;
mod version_skew;
mod work;

pub(crate) use files::Files;

/// The provider. Its steps are fixed when it is made.
pub(crate) struct Baremetal {
    files: Option<Arc<Files>>,
    steps: BTreeMap<&'static str, Box<dyn Step>>,
}

impl Baremetal {
    /// Without files it can remove clusters, but not install them.
    pub(crate) fn new(files: Option<Files>) -> Self {
        let files = files.map(Arc::new);
        Self {
            steps: steps::all(files.as_ref()),
            files,
        }
    }
}

impl std::fmt::Debug for Baremetal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Baremetal")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl Provider for Baremetal {
    fn name(&self) -> &'static str {
        super::BAREMETAL
    }

    fn missing(&self, cluster: &Cluster) -> Vec<String> {
        if is_deleted(cluster) {
            return Vec::new();
        }
        let version = plain_version(&cluster.spec.version);
        match &self.files {
            None => vec!["a provider folder; give one with --provider".to_owned()],
            Some(files) => files.missing(version),
        }
    }

    fn refused_version(&self, cluster: &Cluster) -> Option<String> {
        version_skew::refused(cluster)
    }

    fn refused_machines(&self, cluster: &Cluster, machines: &[&Machine]) -> Option<String> {
        control_plane::refused(cluster, machines)
    }

    fn step(&self, id: &str) -> Option<&dyn Step> {
        self.steps.get(id).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests;
