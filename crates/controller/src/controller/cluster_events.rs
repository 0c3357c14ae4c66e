//! Applies watch events to the index of clusters, and enqueues the clusters and the plugins that they affect.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use tokio::task::Id;

use super::{Controller, TaskOutcome, WorkItem};
use crate::clusters;
use crate::named_cluster::NamedCluster;

impl Controller {
    pub(super) fn handle_cluster(&mut self, event: Event<Box<Cluster>>) {
        let clusters = &mut self.clusters.clusters;
        let name = match event {
            Event::Init => return clusters.start_listing(),
            Event::InitApply(cluster) => return clusters.add_listed(*cluster),
            Event::InitDone => {
                clusters.finish_listing();
                self.enqueue_clusters();
                return self.handle_cluster_list();
            }
            Event::Apply(cluster) => {
                let name = cluster.name_any();
                clusters.apply(*cluster);
                name
            }
            Event::Delete(cluster) => {
                clusters.delete(&cluster.name_any());
                cluster.name_any()
            }
        };
        self.enqueue_cluster(&name);
        self.update_named_cluster(&name);
    }

    fn handle_cluster_list(&mut self) {
        let known = self.index.cluster_names();
        let names: BTreeSet<String> = known
            .chain(self.clusters.clusters.names())
            .cloned()
            .collect();
        for name in names {
            self.update_named_cluster(&name);
        }
        // Until now, it was not known which clusters do not exist.
        let waiting = self.index.plugins_of_named_clusters();
        self.enqueue(waiting);
    }

    /// Applies what the plugins depend on that target a cluster by name, and enqueues them if that changed.
    fn update_named_cluster(&mut self, name: &str) {
        let cluster = self.clusters.clusters.get(name);
        let cluster = cluster.map(|cluster| NamedCluster::of(cluster));
        let enqueued = self.index.set_cluster(name, cluster.clone());
        self.ctx.targets.set_named(name, cluster);
        if enqueued.is_empty() {
            return;
        }
        for key in &enqueued {
            let plugin = self.index.plugin(key);
            let is_unavailable = plugin.is_some_and(|it| self.index.unavailable(it).is_some());
            if let Some(superseded) = self.superseded.get(key).filter(|_| is_unavailable) {
                superseded.send_replace(true);
            }
        }
        self.ctx.resolutions.retain(|key| !enqueued.contains(key));
        self.restart_remote_watches(&enqueued);
        if self.has_synced() {
            self.watch_references();
        }
        self.enqueue(enqueued);
    }

    pub(super) fn handle_machine(&mut self, event: Event<Box<Machine>>) {
        let machines = &mut self.clusters.machines;
        match event {
            Event::Init => machines.start_listing(),
            Event::InitApply(machine) => machines.add_listed(*machine),
            Event::InitDone => {
                machines.finish_listing();
                self.enqueue_clusters();
            }
            Event::Apply(machine) => {
                let address = machine.spec.access.address();
                let cluster = machine.spec.cluster.clone();
                let before = machines.get(&machine.name_any());
                let before = before.map(|before| before.spec.access.address());
                machines.apply(*machine);
                self.enqueue_cluster(&cluster);
                if before.as_ref() != Some(&address) {
                    self.enqueue_rivals(&address);
                    if let Some(before) = before {
                        self.enqueue_rivals(&before);
                    }
                }
            }
            Event::Delete(machine) => {
                machines.delete(&machine.name_any());
                self.ctx.identities.forget(&machine.name_any());
                self.enqueue_cluster(&machine.spec.cluster);
                self.enqueue_rivals(&machine.spec.access.address());
            }
        }
    }

    /// Enqueues the clusters that an address concerns which a machine got or lost.
    fn enqueue_rivals(&mut self, address: &str) {
        for cluster in self.clusters.rivals(address) {
            self.enqueue_cluster(&cluster);
        }
    }

    pub(super) fn enqueue_cluster(&mut self, name: &str) {
        if self.clusters.has_synced() {
            self.queue.add(WorkItem::Cluster(name.to_owned()));
        }
    }

    pub(super) fn enqueue_clusters(&mut self) {
        for name in self.clusters.names() {
            self.enqueue_cluster(&name);
        }
    }

    pub(super) fn spawn_cluster(&mut self, name: &str) -> Option<Id> {
        let options = self.ctx.options.clusters.clone()?;
        let identity = self.ctx.identity(&options);
        let observed = self.clusters.observe(name, identity)?;
        let item = WorkItem::Cluster(name.to_owned());
        self.queue.cancel_delayed(&item);
        let task = clusters::run(Arc::clone(&self.ctx), options, observed);
        let task = async { TaskOutcome::Cluster(Box::pin(task).await) };
        Some(self.tasks.spawn(task).id())
    }

    pub(super) fn handle_cluster_outcome(&mut self, name: &str, outcome: clusters::Outcome) {
        for cluster in outcome.clusters {
            self.clusters.clusters.update(cluster);
        }
        for machine in outcome.machines {
            self.clusters.machines.update(machine);
        }
        if let Some(at) = outcome.requeue_at {
            let item = WorkItem::Cluster(name.to_owned());
            if at <= Instant::now() {
                self.queue.add(item);
            } else {
                self.queue.add_at(item, at);
            }
        }
    }
}
