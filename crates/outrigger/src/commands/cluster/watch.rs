//! Watches clusters and their machines, and shows their steps: live on a terminal, otherwise each change as a line.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt as _};
use jiff::Timestamp;
use kube::api::ListParams;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use tokio::time::Instant;

use super::view::{MAX_LINES, View};
use super::wait::ClusterCondition;
use crate::commands::live_area::LiveArea;
use crate::commands::machine::wait::MachineCondition;
use crate::commands::plugin::progress::Awaited as _;
use crate::commands::plugin::wait_condition::WaitStatus;

/// Time between two updates of the terminal.
const INTERVAL: Duration = Duration::from_millis(100);

/// Some clusters, and what is shown of them.
pub(crate) struct Watch {
    client: Client,
    changes: BoxStream<'static, Change>,
    views: BTreeMap<String, View>,
    /// The clusters of the list that the watch begins with, while it is read.
    listing: BTreeSet<String>,
    synced: Synced,
    /// The last headline of each cluster.
    headlines: BTreeMap<String, String>,
    area: LiveArea,
    is_live: bool,
    is_outdated: bool,
    shown_at: Instant,
}

/// Which lists were read: from then on, an object that is not there is deleted.
#[derive(Debug, Clone, Copy, Default)]
struct Synced {
    clusters: bool,
    machines: bool,
}

/// What the watches report.
pub(super) enum Change {
    Cluster(Event<Cluster>),
    Machine(Event<Machine>),
}

impl Watch {
    pub(crate) fn new(client: &Client, names: impl IntoIterator<Item = String>) -> Self {
        let views = names.into_iter().map(|name| (name, View::default()));
        let area = LiveArea::new();
        Self {
            client: client.clone(),
            changes: changes(client),
            views: views.collect(),
            listing: BTreeSet::new(),
            synced: Synced::default(),
            headlines: BTreeMap::new(),
            is_live: area.is_terminal(),
            area,
            is_outdated: false,
            shown_at: Instant::now(),
        }
    }

    /// Prints only hooks that end after a time of the controller's clock.
    pub(crate) fn set_since(&mut self, time: Timestamp) {
        for view in self.views.values_mut() {
            *view = View::since(time);
        }
    }

    /// Waits also for a machine of one of the clusters.
    pub(crate) fn expect(&mut self, machine: &Machine) {
        if let Some(view) = self.views.get_mut(&machine.spec.cluster) {
            view.expected.insert(machine.name_any());
        }
    }

    /// Shows the clusters until nothing is left to do for any of them; at once if there are none. Returns whether all run
    /// or are deleted, as their specs demand.
    pub(crate) async fn until_idle(&mut self) -> anyhow::Result<bool> {
        loop {
            let outcomes = self.views.values().map(|view| self.outcome(view));
            let outcomes: Option<Vec<bool>> = outcomes.collect();
            let Some(outcomes) = outcomes else {
                self.next().await;
                continue;
            };
            // The watch of machines may be behind.
            self.refresh().await?;
            self.show();
            return Ok(outcomes.iter().all(|is_successful| *is_successful));
        }
    }

    /// Whether a cluster is where it is headed; `None` if it may still get there.
    fn outcome(&self, view: &View) -> Option<bool> {
        let Some(cluster) = &view.cluster else {
            return self.synced.clusters.then_some(true);
        };
        match Cluster::evaluate(Some(cluster), &ClusterCondition::of(cluster)) {
            WaitStatus::Met if view.expected.is_empty() => Some(true),
            WaitStatus::Met if self.synced.machines => expected_outcome(view),
            WaitStatus::Failed(_) => Some(false),
            WaitStatus::Met | WaitStatus::Pending(_) | WaitStatus::Unreachable(_) => None,
        }
    }

    /// Prints changes of the clusters, without a live view, for ever.
    pub(crate) async fn follow(&mut self) {
        self.is_live = false;
        loop {
            self.next().await;
        }
    }

    async fn next(&mut self) {
        let due = self.shown_at + INTERVAL;
        tokio::select! {
            change = self.changes.next() => match change {
                Some(change) => self.update(change),
                None => std::future::pending().await,
            },
            () = tokio::time::sleep_until(due), if self.is_outdated => self.show(),
        }
        if self.is_outdated && !self.is_live {
            self.show();
        }
    }

    fn update(&mut self, change: Change) {
        self.is_outdated = true;
        match change {
            Change::Cluster(Event::Apply(cluster)) => self.set_cluster(cluster),
            Change::Cluster(Event::InitApply(cluster)) => {
                self.listing.insert(cluster.name_any());
                self.set_cluster(cluster);
            }
            Change::Cluster(Event::Delete(cluster)) => self.remove_cluster(&cluster.name_any()),
            Change::Cluster(Event::Init) => self.listing.clear(),
            Change::Cluster(Event::InitDone) => {
                self.synced.clusters = true;
                let views = self.views.keys();
                let gone = views.filter(|name| !self.listing.contains(*name));
                for name in gone.cloned().collect::<Vec<_>>() {
                    self.remove_cluster(&name);
                }
            }
            Change::Machine(Event::Apply(machine) | Event::InitApply(machine)) => {
                if let Some(view) = self.views.get_mut(&machine.spec.cluster) {
                    view.set_machine(machine);
                }
            }
            Change::Machine(Event::Delete(machine)) => {
                if let Some(view) = self.views.get_mut(&machine.spec.cluster) {
                    view.machines.remove(&machine.name_any());
                }
            }
            Change::Machine(Event::Init) => {}
            Change::Machine(Event::InitDone) => self.synced.machines = true,
        }
    }

    fn set_cluster(&mut self, cluster: Cluster) {
        if let Some(view) = self.views.get_mut(&cluster.name_any()) {
            view.set_cluster(cluster);
        }
    }

    fn remove_cluster(&mut self, name: &str) {
        let Some(view) = self.views.get_mut(name) else {
            return;
        };
        if view.cluster.take().is_some() {
            self.headlines.remove(name);
            let line = format!("{name:<24} deleted");
            self.area.draw(&[line], &[]);
        }
    }

    async fn refresh(&mut self) -> anyhow::Result<()> {
        let api: Api<Machine> = Api::all(self.client.clone());
        for machine in api.list(&ListParams::default()).await?.items {
            self.update(Change::Machine(Event::Apply(machine)));
        }
        Ok(())
    }

    fn show(&mut self) {
        self.is_outdated = false;
        self.shown_at = Instant::now();
        let mut staying = Vec::new();
        for (name, view) in &mut self.views {
            staying.extend(view.ended_hooks());
            let Some(headline) = view.headline().filter(|_| !self.is_live) else {
                continue;
            };
            if self.headlines.get(name) != Some(&headline) {
                staying.push(headline.clone());
                self.headlines.insert(name.clone(), headline);
            }
        }
        let views = self.views.values().filter(|_| self.is_live);
        let limit = (MAX_LINES / self.views.len().max(1)).max(1);
        let lines = views.flat_map(|view| view.lines(limit));
        // More clusters than lines: the first ones.
        let lines: Vec<String> = lines.take(MAX_LINES).collect();
        if self.is_live || !staying.is_empty() {
            self.area.draw(&staying, &lines);
        }
    }
}

/// Whether the machines that are waited for run; `None` if they may still do.
fn expected_outcome(view: &View) -> Option<bool> {
    let outcomes = view.expected.iter().map(|name| {
        match Machine::evaluate(view.machines.get(name), &MachineCondition::Running) {
            WaitStatus::Met => Some(true),
            WaitStatus::Failed(_) => Some(false),
            WaitStatus::Pending(_) | WaitStatus::Unreachable(_) => None,
        }
    });
    let outcomes: Option<Vec<bool>> = outcomes.collect();
    outcomes.map(|outcomes| outcomes.iter().all(|is_running| *is_running))
}

pub(super) fn changes(client: &Client) -> BoxStream<'static, Change> {
    let clusters = watcher(Api::<Cluster>::all(client.clone()), Config::default());
    let machines = watcher(Api::<Machine>::all(client.clone()), Config::default());
    // Watchers retry after errors.
    let (clusters, machines) = (clusters.default_backoff(), machines.default_backoff());
    let clusters = clusters.filter_map(async |event| event.ok().map(Change::Cluster));
    let machines = machines.filter_map(async |event| event.ok().map(Change::Machine));
    futures::stream::select(clusters, machines).boxed()
}
