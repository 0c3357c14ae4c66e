//! Applies watch events to the index of clusters, and enqueues the clusters that they affect.

use std::sync::Arc;
use std::time::Instant;

use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use tokio::task::Id;

use super::{Controller, TaskOutcome, WorkItem};
use crate::clusters;

impl Controller {
    pub(super) fn handle_cluster(&mut self, event: Event<Box<Cluster>>) {
        let clusters = &mut self.clusters.clusters;
        let name = match event {
            Event::Init => return clusters.start_listing(),
            Event::InitApply(cluster) => return clusters.add_listed(*cluster),
            Event::InitDone => {
                clusters.finish_listing();
                return self.enqueue_clusters();
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
