//! What the index knows about the Clusters that plugins target by name.

use std::collections::HashMap;
use std::sync::Arc;

use outrigger_api::plugin::Plugin;
use outrigger_api::repository::SecretReference;

use super::{Enqueued, Index};
use crate::key::Key;
use crate::named_cluster::{self, NamedCluster, Unavailable};
use crate::release_ref::{ClusterRef, ReleaseRef};

impl Index {
    /// Sets what is known about a Cluster; `None` if it does not exist. Returns the plugins that target it by name, if that
    /// changed.
    pub(crate) fn set_cluster(&mut self, name: &str, cluster: Option<NamedCluster>) -> Enqueued {
        if self.clusters.get(name) == cluster.as_ref() {
            return Enqueued::new();
        }
        match cluster {
            Some(cluster) => drop(self.clusters.insert(name.to_owned(), cluster)),
            None => drop(self.clusters.remove(name)),
        }
        let plugins = self.plugins_of(&ClusterRef::Named(name.to_owned()));
        for key in &plugins {
            let Some(entry) = self.plugins.get(key) else {
                continue;
            };
            let (plugin, is_installed) = (Arc::clone(&entry.plugin), entry.is_installed());
            self.set_references(key, &plugin);
            if !is_installed && is_refused(&self.clusters, &plugin) {
                self.releases.withdraw(&ReleaseRef::of(&plugin), key);
            }
        }
        plugins
    }

    /// The names of the Clusters that are known.
    pub(crate) fn cluster_names(&self) -> impl Iterator<Item = &String> {
        self.clusters.keys()
    }

    /// Whether a plugin targets a Cluster by name.
    pub(crate) fn is_in_named_cluster(&self, key: &Key) -> bool {
        let plugin = self.plugin(key);
        plugin.is_some_and(|plugin| matches!(ClusterRef::of(plugin), ClusterRef::Named(_)))
    }

    pub(crate) fn plugins_of_named_clusters(&self) -> Enqueued {
        let keys = self.keys().filter(|key| self.is_in_named_cluster(key));
        keys.cloned().collect()
    }

    /// Why a plugin cannot use the cluster that it targets by name.
    pub(crate) fn unavailable(&self, plugin: &Plugin) -> Option<Unavailable> {
        kubeconfig(&self.clusters, plugin)?.err()
    }
}

/// Whether the cluster that a plugin targets by name does not allow it.
pub(super) fn is_refused(clusters: &HashMap<String, NamedCluster>, plugin: &Plugin) -> bool {
    let unavailable = kubeconfig(clusters, plugin).and_then(Result::err);
    unavailable.is_some_and(|unavailable| unavailable.is_refusal())
}

/// The Secret with the kubeconfig of the cluster that a plugin targets by name.
pub(super) fn kubeconfig<'a>(
    clusters: &'a HashMap<String, NamedCluster>,
    plugin: &Plugin,
) -> Option<Result<&'a SecretReference, Unavailable>> {
    let ClusterRef::Named(name) = ClusterRef::of(plugin) else {
        return None;
    };
    let cluster = clusters.get(&name);
    Some(named_cluster::kubeconfig(
        cluster,
        &name,
        plugin.namespace(),
    ))
}
