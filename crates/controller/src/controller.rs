//! The controller loop: handles watch events, enqueues the plugins that they affect, and spawns reconcile tasks.

mod cluster_events;
mod dynamic_watches;
mod watch_events;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};

use crate::clusters::{self, ClusterIndex};
use crate::context::Context;
use crate::index::{Enqueued, Index};
use crate::key::Key;
use crate::metrics::ReconcileResult;
use crate::objects::Kind;
use crate::queue::Queue;
use crate::reconcile::{self, Outcome};
use crate::references::ReferenceKind;
use crate::release_ref::ClusterRef;
use crate::task::AbortOnDrop;
use crate::watch_event::WatchEvent;
use crate::watches;

/// How long reconcile tasks may continue after a shutdown request.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(300);

/// How long aborted tasks may take to end. Those that compute end later, before they send anything.
const ABORT_GRACE: Duration = Duration::from_millis(100);

/// Interval for dropping unused watches.
const WATCH_CLEANUP_INTERVAL: Duration = Duration::from_secs(30);

/// Events handled at most before tasks are spawned.
const EVENT_BATCH: usize = 256;

/// Counted as failures for the backoff after a panic.
const PANIC_FAILURES: u32 = 3;

/// An object to reconcile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum WorkItem {
    Plugin(Key),
    /// A cluster and its machines.
    Cluster(String),
}

/// The result of a reconcile task.
enum TaskOutcome {
    Plugin(Box<Outcome>),
    Cluster(clusters::Outcome),
}

pub(crate) struct Controller {
    ctx: Arc<Context>,
    index: Index,
    clusters: ClusterIndex,
    queue: Queue<WorkItem>,
    events: Receiver<WatchEvent>,
    tasks: JoinSet<TaskOutcome>,
    /// The object of each task.
    task_items: HashMap<Id, WorkItem>,
    /// Signals to the task of a plugin that the plugin changed.
    superseded: HashMap<Key, watch::Sender<bool>>,
    /// The plugin watches whose initial list is not complete.
    unsynced_namespaces: BTreeSet<Option<String>>,
    plugin_listings: HashMap<Option<String>, BTreeSet<Key>>,
    have_defaults_synced: bool,
    have_repositories_synced: bool,
    reference_watches: HashMap<(ReferenceKind, String), AbortOnDrop>,
    reference_listings: HashMap<(ReferenceKind, String), HashMap<String, String>>,
    object_watches: HashMap<(ClusterRef, Kind), AbortOnDrop>,
    _static_watches: Vec<AbortOnDrop>,
}

impl Drop for Controller {
    fn drop(&mut self) {
        // Their tasks share the context, and would keep it alive.
        self.ctx.resolutions.retain(|_| false);
    }
}

impl Controller {
    /// Starts the watches.
    pub(crate) fn new(ctx: Context, events: Receiver<WatchEvent>) -> Self {
        let ctx = Arc::new(ctx);
        let namespaces: Vec<Option<String>> = match ctx.options.namespaces.as_slice() {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        let sender = || ctx.events.clone();
        let mut static_watches: Vec<AbortOnDrop> = namespaces
            .iter()
            .map(|namespace| watches::plugins(ctx.client.clone(), namespace.clone(), sender()))
            .collect();
        static_watches.push(watches::defaults(ctx.client.clone(), sender()));
        let repositories = ctx.sources.repositories.clone();
        static_watches.push(watches::repositories(
            ctx.client.clone(),
            repositories,
            sender(),
        ));
        if ctx.options.clusters.is_some() {
            static_watches.push(watches::clusters(ctx.client.clone(), sender()));
            static_watches.push(watches::machines(ctx.client.clone(), sender()));
        }
        Self {
            index: Index::default(),
            clusters: ClusterIndex::default(),
            queue: Queue::new(ctx.options.max_concurrent_reconciles),
            events,
            tasks: JoinSet::new(),
            task_items: HashMap::new(),
            superseded: HashMap::new(),
            unsynced_namespaces: namespaces.into_iter().collect(),
            plugin_listings: HashMap::new(),
            have_defaults_synced: false,
            have_repositories_synced: false,
            reference_watches: HashMap::new(),
            reference_listings: HashMap::new(),
            object_watches: HashMap::new(),
            _static_watches: static_watches,
            ctx,
        }
    }

    /// Runs until `shutdown` completes.
    pub(crate) async fn run(&mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut next_cleanup = Instant::now() + WATCH_CLEANUP_INTERVAL;
        let mut next_resync = Instant::now() + self.ctx.options.resync_period;
        loop {
            self.spawn_tasks();
            self.record_turn();
            let mut wake_at = next_cleanup.min(next_resync);
            if let Some(due) = self.next_due() {
                wake_at = wake_at.min(due);
            }
            tokio::select! {
                () = &mut shutdown => break,
                event = self.events.recv() => {
                    let Some(event) = event else { break };
                    self.handle_event(event);
                    for _ in 0..EVENT_BATCH {
                        let Ok(event) = self.events.try_recv() else { break };
                        self.handle_event(event);
                    }
                }
                Some(result) = self.tasks.join_next_with_id() => self.handle_task_result(result),
                () = tokio::time::sleep_until(wake_at.into()) => {}
            }
            let now = Instant::now();
            if now >= next_cleanup {
                self.drop_unused_watches();
                next_cleanup = now + WATCH_CLEANUP_INTERVAL;
            }
            if now >= next_resync {
                self.enqueue_all();
                next_resync = now + self.ctx.options.resync_period;
            }
        }
        self.stop_tasks().await;
    }

    fn record_turn(&self) {
        let (waiting, active) = (self.queue.len(), self.tasks.len());
        let metrics = &self.ctx.options.metrics;
        metrics.record_turn(self.has_synced(), waiting, active);
    }

    /// Whether the initial lists that decisions depend on are complete.
    fn has_synced(&self) -> bool {
        self.unsynced_namespaces.is_empty()
            && self.have_defaults_synced
            && self.have_repositories_synced
    }

    fn next_due(&self) -> Option<Instant> {
        self.queue.next_due().filter(|_| self.has_synced())
    }

    fn spawn_tasks(&mut self) {
        if !self.has_synced() {
            return;
        }
        let now = Instant::now();
        while let Some(item) = self.queue.get(now) {
            let is_spawned = match &item {
                WorkItem::Plugin(key) => self.spawn_plugin(key, now),
                WorkItem::Cluster(name) => self.spawn_cluster(name),
            };
            match is_spawned {
                Some(id) => drop(self.task_items.insert(id, item)),
                None => self.queue.done(&item),
            }
        }
    }

    fn spawn_plugin(&mut self, key: &Key, now: Instant) -> Option<Id> {
        if !self.clusters.clusters.has_synced() && self.index.is_in_named_cluster(key) {
            // Whether its cluster exists is known when they are listed, which enqueues it again.
            return None;
        }
        self.index.elect_release_owner(key);
        let Some(observed) = self.index.observe(key, now) else {
            self.ctx.options.metrics.forget(key);
            let item = WorkItem::Plugin(key.clone());
            self.queue.set_failing(&item, false);
            return None;
        };
        self.queue.cancel_delayed(&WorkItem::Plugin(key.clone()));
        let (sender, superseded) = watch::channel(false);
        let task = reconcile::run(Arc::clone(&self.ctx), observed, superseded);
        let task = async { TaskOutcome::Plugin(Box::new(Box::pin(task).await)) };
        self.superseded.insert(key.clone(), sender);
        Some(self.tasks.spawn(task).id())
    }

    fn handle_task_result(&mut self, result: Result<(Id, TaskOutcome), JoinError>) {
        let (id, outcome) = match result {
            Ok((id, outcome)) => (id, Some(outcome)),
            Err(error) => {
                tracing::error!(%error, "reconcile task panicked");
                let metrics = &self.ctx.options.metrics;
                metrics.record_reconcile(ReconcileResult::Panicked, Duration::ZERO);
                (error.id(), None)
            }
        };
        let Some(item) = self.task_items.remove(&id) else {
            return;
        };
        if let WorkItem::Plugin(key) = &item {
            self.superseded.remove(key);
        }
        match (&item, outcome) {
            (WorkItem::Plugin(key), Some(TaskOutcome::Plugin(outcome))) => {
                self.handle_outcome(key, *outcome);
            }
            (WorkItem::Cluster(name), Some(TaskOutcome::Cluster(outcome))) => {
                self.handle_cluster_outcome(name, outcome);
            }
            _ => {
                let delay = self.ctx.options.backoff.delay(PANIC_FAILURES);
                self.queue.add_at(item.clone(), Instant::now() + delay);
            }
        }
        self.queue.done(&item);
    }

    fn handle_outcome(&mut self, key: &Key, outcome: Outcome) {
        let reconciled = outcome.reconciled;
        let uid = reconciled.metadata.uid.as_deref();
        let unwritten = (!outcome.is_written).then_some(outcome.status);
        let written = outcome.written_status;
        let has_written_status = written.is_some();
        if !self
            .index
            .store(key, uid, written, unwritten, outcome.retry)
        {
            return;
        }
        if let Some(plugin) = outcome.written {
            let mut enqueued = self.index.apply(*plugin);
            // The watch reports the change of somebody else too, but as an older version, which is ignored.
            if outcome.is_superseded {
                enqueued.insert(key.clone());
            } else {
                enqueued.remove(key);
            }
            self.enqueue(enqueued);
        }
        // If the status could not be restored, that is retried with backoff.
        let found = self.index.plugin(key).map(|plugin| &plugin.status);
        let is_unread =
            has_written_status || found.is_some_and(|found| *found != reconciled.status);
        if self.index.keep_status(key, reconciled.status.as_ref()) && is_unread {
            self.queue.add(WorkItem::Plugin(key.clone()));
        }
        if let Some(read) = outcome.read
            && self.index.references.record_read(key, read)
        {
            self.queue.add(WorkItem::Plugin(key.clone()));
        }
        let item = WorkItem::Plugin(key.clone());
        self.queue.set_failing(&item, self.index.is_failing(key));
        if let Some(at) = outcome.requeue_at {
            self.queue.add_at(item, at);
        }
        self.watch_objects_of(key);
        self.watch_references();
    }

    fn enqueue(&mut self, keys: Enqueued) {
        for key in keys {
            let is_failing = self.index.is_failing(&key);
            let item = WorkItem::Plugin(key);
            self.queue.set_failing(&item, is_failing);
            self.queue.add(item);
        }
    }

    fn enqueue_all(&mut self) {
        let all: Enqueued = self.index.keys().cloned().collect();
        self.enqueue(all);
        self.enqueue_clusters();
    }

    /// Lets the tasks finish within the grace period, then aborts them. Aborted work is resumed after the next start.
    async fn stop_tasks(&mut self) {
        let finished = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_GRACE, finished)
            .await
            .is_err()
        {
            tracing::info!("aborting unfinished reconcile tasks");
        }
        self.tasks.abort_all();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // An aborted task sends no request any more.
        let _ = tokio::time::timeout(ABORT_GRACE, ended).await;
    }
}
