//! The watches that depend on the plugins: kinds of their objects, namespaces of their references.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Controller;
use crate::index::Enqueued;
use crate::key::Key;
use crate::objects::Kind;
use crate::release_ref::ClusterRef;
use crate::watches;

impl Controller {
    /// Watches the kinds of the objects of a plugin.
    pub(super) fn watch_objects_of(&mut self, key: &Key) {
        let kinds = self.index.kinds_of(key);
        self.start_object_watches(kinds);
    }

    pub(super) fn watch_all_objects(&mut self) {
        let kinds = self.index.used_kinds();
        self.start_object_watches(kinds);
    }

    /// Starts the watches that do not run yet.
    fn start_object_watches(&mut self, kinds: BTreeSet<(ClusterRef, Kind)>) {
        for (cluster, kind) in kinds {
            let watched = (cluster.clone(), kind.clone());
            if self.object_watches.contains_key(&watched) {
                continue;
            }
            let has_health_rule = self.index.has_health_rule(&kind);
            let sender = self.ctx.events.clone();
            let existence = self.ctx.targets.existence_cache(&cluster);
            let (ctx, target) = (Arc::clone(&self.ctx), cluster.clone());
            let client = async move {
                let client = ctx.targets.watch_client(&target).await?;
                Some((client, ctx.targets.server(&target)))
            };
            let watch = watches::objects(client, cluster, kind, has_health_rule, existence, sender);
            self.object_watches.insert(watched, watch);
        }
    }

    /// Watches the namespaces of all references.
    pub(super) fn watch_references(&mut self) {
        for (kind, namespace) in self.index.references.watch_scopes() {
            let ctx = &self.ctx;
            self.reference_watches
                .entry((kind, namespace.clone()))
                .or_insert_with(|| {
                    watches::references(ctx.client.clone(), kind, namespace, ctx.events.clone())
                });
        }
    }

    pub(super) fn drop_unused_watches(&mut self) {
        let used = self.index.used_kinds();
        let objects = &mut self.index.objects;
        self.object_watches.retain(|watched, _| {
            let is_used = used.contains(watched);
            if !is_used {
                objects.forget(&watched.0, &watched.1);
            }
            is_used
        });
        let scopes = self.index.references.watch_scopes();
        self.reference_watches
            .retain(|scope, _| scopes.contains(scope));
    }

    /// Restarts the watches of remote clusters of these plugins, because their kubeconfigs may have changed, or ends them.
    pub(super) fn restart_remote_watches(&mut self, plugins: &Enqueued) {
        let clusters: BTreeSet<ClusterRef> = plugins
            .iter()
            .filter_map(|key| self.index.plugin(key))
            .map(|plugin| ClusterRef::of(plugin))
            .filter(|cluster| *cluster != ClusterRef::Local)
            .collect();
        if clusters.is_empty() {
            return;
        }
        let used = self.index.used_kinds();
        let objects = &mut self.index.objects;
        self.object_watches.retain(|watched, _| {
            let is_affected = clusters.contains(&watched.0);
            if is_affected && !used.contains(watched) {
                objects.forget(&watched.0, &watched.1);
            }
            !is_affected
        });
        self.watch_all_objects();
    }

    /// Restarts the watches of kinds whose health rules changed: they need full objects now, or no longer.
    pub(super) fn restart_object_watches(&mut self, kinds: &[Kind]) {
        let watched = self.object_watches.keys();
        let affected: BTreeSet<(ClusterRef, Kind)> = watched
            .filter(|(_, kind)| kinds.contains(kind))
            .cloned()
            .collect();
        self.object_watches
            .retain(|watched, _| !affected.contains(watched));
        for (cluster, kind) in &affected {
            // Their health by the new rules is unknown.
            self.index.objects.forget(cluster, kind);
        }
        self.start_object_watches(affected);
    }
}
