//! The garbage collector: deletes dependents whose owners are gone.
//!
//! Watch events update the [`graph`] of owners and dependents and enqueue objects. For each, [`observe`] reads owners and
//! dependents, [`decide`] chooses the actions, and [`act`] executes them through the API. A start enqueues all objects.

mod act;
mod decide;
mod graph;
mod observe;
mod queue;

use std::sync::Arc;

use act::Outcome;
use graph::Graph;
use observe::{Observation, Observer};
use outrigger_builtin::kinds::Kinds;
use outrigger_store::watch::{Event, WatchEnd, Watcher};
use outrigger_store::{Key, Scope, Store};
use queue::Queue;
use tokio::task::JoinSet;

use crate::loopback::Client;
use crate::panics;

/// How many objects are processed concurrently. Many, so that their writes share a commit.
const MAX_CONCURRENT: usize = 64;

/// Returns the kinds that are served now.
pub type ServedKinds = Arc<dyn Fn() -> Arc<Kinds> + Send + Sync>;

/// Runs until the store closes.
pub async fn run(client: Client, store: Store, kinds: ServedKinds) {
    loop {
        let Ok((mut collector, mut watcher)) = Collector::start(&client, &store, &kinds) else {
            // The snapshot was compacted before the watch began.
            tokio::task::yield_now().await;
            continue;
        };
        match collector.run(&mut watcher).await {
            WatchEnd::Closed => return,
            WatchEnd::Overflow => {
                tracing::info!("the garbage collector fell behind and starts again");
            }
        }
    }
}

struct Collector {
    client: Client,
    observer: Observer,
    graph: Graph,
    queue: Queue,
    tasks: JoinSet<(Key, Outcome)>,
}

impl Collector {
    fn start(
        client: &Client,
        store: &Store,
        kinds: &ServedKinds,
    ) -> Result<(Self, Watcher), outrigger_store::watch::Expired> {
        let snapshot = store.snapshot();
        let watcher = store.watch(Scope::everything(), snapshot.revision())?;
        let mut graph = Graph::default();
        let mut queue = Queue::default();
        for object in snapshot.list(&Scope::everything()) {
            graph.insert(object);
            if graph::is_relevant(object) {
                queue.push(object.key().clone());
            }
        }
        let collector = Self {
            client: client.clone(),
            observer: Observer::new(store.clone(), Arc::clone(kinds)),
            graph,
            queue,
            tasks: JoinSet::new(),
        };
        Ok((collector, watcher))
    }

    async fn run(&mut self, watcher: &mut Watcher) -> WatchEnd {
        loop {
            if let Err(end) = self.apply_pending(watcher) {
                return end;
            }
            self.process_queue();
            tokio::select! {
                event = watcher.next() => match event {
                    Ok(event) => self.handle_event(&event),
                    Err(end) => return end,
                },
                Some(result) = self.tasks.join_next() => self.finish(result),
                () = self.queue.wait() => {}
            }
        }
    }

    /// Applies all pending events, so that decisions use the latest state.
    fn apply_pending(&mut self, watcher: &mut Watcher) -> Result<(), WatchEnd> {
        while let Some(event) = watcher.ready()? {
            self.handle_event(&event);
        }
        Ok(())
    }

    fn handle_event(&mut self, event: &Event) {
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

    /// Processes queued objects up to the concurrency limit.
    fn process_queue(&mut self) {
        while self.tasks.len() < MAX_CONCURRENT {
            let Some(key) = self.queue.pop() else {
                return;
            };
            let processed = panics::catch(|| self.process(&key));
            if let Err(panic) = processed {
                self.queue.retry(report(key, &panic));
            }
        }
    }

    fn process(&mut self, key: &Key) {
        let observed = match self.observer.observe(key, &self.graph) {
            Observation::Skip => return self.queue.done(key),
            Observation::Unresolved => return self.queue.set_unresolved(key.clone()),
            Observation::Object(observed) => observed,
        };
        let decision = decide::decide(&observed);
        for key in decision.requeue {
            self.queue.push(key);
        }
        if decision.actions.is_empty() {
            return self.queue.done(key);
        }
        self.queue.start(key.clone());
        let (client, observer) = (self.client.clone(), self.observer.clone());
        let key = key.clone();
        self.tasks.spawn(async move {
            let acted = act::act(&client, &observer, &key, decision.actions);
            match panics::catch_async(acted).await {
                Ok(outcome) => (key, outcome),
                Err(panic) => (report(key, &panic), Outcome::Retry),
            }
        });
    }

    fn finish(&mut self, result: Result<(Key, Outcome), tokio::task::JoinError>) {
        match result {
            Ok((key, Outcome::Done)) => self.queue.done(&key),
            Ok((key, Outcome::Retry)) => self.queue.retry(key),
            // The runtime shuts down.
            Err(error) => tracing::debug!(%error, "a garbage collection task ended"),
        }
    }
}

fn report(key: Key, panic: &panics::Panic) -> Key {
    tracing::error!(%key, %panic, "garbage collection of an object panicked");
    key
}

#[cfg(test)]
mod tests;
