//! Watches clusters and their machines, and shows their steps: live on a terminal, otherwise each change as a line.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt as _};
use kube::api::ListParams;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::machine::Machine;
use tokio::time::Instant;

use super::view::{MAX_LINES, View};
use crate::commands::live_area::LiveArea;

/// Time between two updates of the terminal.
const INTERVAL: Duration = Duration::from_millis(100);

/// Some clusters, and what is shown of them.
pub(crate) struct Watch {
    client: Client,
    changes: BoxStream<'static, Change>,
    views: BTreeMap<String, View>,
    /// The last headline of each cluster.
    headlines: BTreeMap<String, String>,
    area: LiveArea,
    is_live: bool,
    is_outdated: bool,
    shown_at: Instant,
}

enum Change {
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
            headlines: BTreeMap::new(),
            is_live: area.is_terminal(),
            area,
            is_outdated: false,
            shown_at: Instant::now(),
        }
    }

    /// Shows the clusters until all are Running or Failed; at once if there are none. Returns whether all are Running.
    pub(crate) async fn until_idle(&mut self) -> anyhow::Result<bool> {
        while !self.views.values().all(|view| idle_phase(view).is_some()) {
            self.next().await;
        }
        // The watch of machines may be behind.
        self.refresh().await?;
        self.show();
        let mut phases = self.views.values().map(idle_phase);
        Ok(phases.all(|phase| phase == Some(ClusterPhase::Running)))
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
            Change::Cluster(Event::Apply(cluster) | Event::InitApply(cluster)) => {
                if let Some(view) = self.views.get_mut(&cluster.name_any()) {
                    view.cluster = Some(cluster);
                }
            }
            Change::Cluster(Event::Delete(cluster)) => {
                if let Some(view) = self.views.get_mut(&cluster.name_any()) {
                    *view = View::default();
                }
            }
            Change::Machine(Event::Apply(machine) | Event::InitApply(machine)) => {
                if let Some(view) = self.views.get_mut(&machine.spec.cluster) {
                    view.machines.insert(machine.name_any(), machine);
                }
            }
            Change::Machine(Event::Delete(machine)) => {
                if let Some(view) = self.views.get_mut(&machine.spec.cluster) {
                    view.machines.remove(&machine.name_any());
                }
            }
            Change::Cluster(Event::Init | Event::InitDone)
            | Change::Machine(Event::Init | Event::InitDone) => {}
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

fn changes(client: &Client) -> BoxStream<'static, Change> {
    let clusters = watcher(Api::<Cluster>::all(client.clone()), Config::default());
    let machines = watcher(Api::<Machine>::all(client.clone()), Config::default());
    // Watchers retry after errors.
    let clusters = clusters.filter_map(async |event| event.ok().map(Change::Cluster));
    let machines = machines.filter_map(async |event| event.ok().map(Change::Machine));
    futures::stream::select(clusters, machines).boxed()
}

/// Running or Failed, if the controller has seen the current spec.
fn idle_phase(view: &View) -> Option<ClusterPhase> {
    let cluster = view.cluster.as_ref()?;
    let status = cluster.status.as_ref()?;
    let is_observed = status.observed_generation == cluster.metadata.generation;
    let is_idle = matches!(status.phase, ClusterPhase::Running | ClusterPhase::Failed);
    (is_observed && is_idle).then_some(status.phase)
}
