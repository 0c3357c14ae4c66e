//! Garbage collection by owner references: what nobody owns any more is deleted.
//!
//! Three steps, apart from each other: what is known of owners and dependents ([`graph`], [`observe`]), what to do
//! with one object ([`decide`]), and doing it through the API ([`act`]). Driven by events of the store; after a restart
//! everything is looked at once.

mod act;
mod decide;
mod graph;
mod observe;
mod queue;

use std::sync::Arc;

use act::Outcome;
use graph::Graph;
use observe::{Observer, Seen};
use outrigger_builtin::kinds::Kinds;
use outrigger_store::watch::{Event, WatchEnd, Watcher};
use outrigger_store::{Key, Scope, Store};
use queue::Queue;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::local::Local;

/// Most objects that are acted on at a time. Many, so that their writes share a commit.
const AT_ONCE: usize = 64;

/// The kinds that are served now.
pub type ServedKinds = Arc<dyn Fn() -> Arc<Kinds> + Send + Sync>;

/// Collects garbage until `closed` says so or the store closes.
pub async fn run(
    local: Local,
    store: Store,
    kinds: ServedKinds,
    mut closed: watch::Receiver<bool>,
) {
    loop {
        let Ok((mut collector, mut watcher)) = Collector::start(&local, &store, &kinds) else {
            // The history moved on between two calls.
            tokio::task::yield_now().await;
            continue;
        };
        tokio::select! {
            end = collector.run(&mut watcher) => match end {
                WatchEnd::Closed => return,
                WatchEnd::Overflow => tracing::info!("garbage collection begins anew: events were missed"),
            },
            _ = closed.wait_for(|closed| *closed) => return,
        }
    }
}

/// The collector from one look at everything on.
struct Collector {
    local: Local,
    observer: Observer,
    graph: Graph,
    queue: Queue,
    tasks: JoinSet<(Key, Outcome)>,
}

impl Collector {
    fn start(
        local: &Local,
        store: &Store,
        kinds: &ServedKinds,
    ) -> Result<(Self, Watcher), outrigger_store::watch::Expired> {
        let snapshot = store.snapshot();
        let watcher = store.watch(Scope::everything(), snapshot.revision())?;
        let mut graph = Graph::default();
        let mut queue = Queue::default();
        for object in snapshot.list(&Scope::everything()) {
            graph.put(object);
            if graph::concerns(object) {
                queue.push(object.key().clone());
            }
        }
        let collector = Self {
            local: local.clone(),
            observer: Observer::new(store.clone(), Arc::clone(kinds)),
            graph,
            queue,
            tasks: JoinSet::new(),
        };
        Ok((collector, watcher))
    }

    async fn run(&mut self, watcher: &mut Watcher) -> WatchEnd {
        loop {
            if let Err(end) = self.catch_up(watcher) {
                return end;
            }
            self.begin();
            tokio::select! {
                event = watcher.next() => match event {
                    Ok(event) => self.note(&event),
                    Err(end) => return end,
                },
                Some(done) = self.tasks.join_next() => self.finish(done),
                () = self.queue.wait() => {}
            }
        }
    }

    /// Decisions are made on all that is known.
    fn catch_up(&mut self, watcher: &mut Watcher) -> Result<(), WatchEnd> {
        while let Some(event) = watcher.ready()? {
            self.note(&event);
        }
        Ok(())
    }

    fn note(&mut self, event: &Event) {
        let resource = event.key().resource();
        if resource.plural() == "customresourcedefinitions" {
            self.queue.push_unresolved();
        }
        let affected = self.graph.apply(event);
        for key in affected.objects {
            self.queue.push(key);
        }
        for (owner, namespace) in affected.owners {
            if let Some(key) = self.observer.owner_key(&owner, &namespace) {
                self.queue.push(key);
            }
        }
    }

    /// Starts as much as may run at a time.
    fn begin(&mut self) {
        while self.tasks.len() < AT_ONCE {
            let Some(key) = self.queue.pop() else {
                return;
            };
            match self.observer.look(&key, &self.graph) {
                Seen::Nothing => self.queue.settle(&key),
                Seen::Unresolved => self.queue.set_unresolved(key),
                Seen::Facts(facts) => {
                    let decision = decide::decide(&facts);
                    for key in decision.look_at {
                        self.queue.push(key);
                    }
                    if decision.actions.is_empty() {
                        self.queue.settle(&key);
                        continue;
                    }
                    self.queue.set_busy(key.clone());
                    let local = self.local.clone();
                    let observer = self.observer.clone();
                    self.tasks.spawn(async move {
                        let outcome = act::act(&local, &observer, &key, decision.actions).await;
                        (key, outcome)
                    });
                }
            }
        }
    }

    fn finish(&mut self, done: Result<(Key, Outcome), tokio::task::JoinError>) {
        match done {
            Ok((key, Outcome::Done)) => self.queue.settle(&key),
            Ok((key, Outcome::Again)) => self.queue.retry(key),
            // It panicked or was cancelled; whatever it was about is looked at again after the next event.
            Err(error) => tracing::warn!(%error, "a task of garbage collection ended"),
        }
    }
}

#[cfg(test)]
mod tests;
