//! The controller: handles watch events, reconciles the objects that they affect, and executes the resulting plans.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use outrigger_apiserver::loopback::Client;
use outrigger_apiserver::panics;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::cache::{Cache, ObjectRef, WATCHED};
use super::enqueue::objects_to_reconcile;
use super::execute::{CacheUpdate, Execution, execute};
use super::plan::{Action, Context};
use super::reconcile::reconcile;
use super::watch::{CacheEvent, list_and_watch};
use super::{Options, node};

/// How many plans are executed concurrently.
const MAX_CONCURRENT: usize = 32;
/// How many pods the simulated cluster has room for. A namespace gets half of what the others leave, so that there is room
/// for the pods of every namespace.
const MAX_PODS: usize = 10_000;
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// The delay of what is due after the end of the clock.
const MAX_DELAY: Duration = Duration::from_hours(24 * 365);

pub(super) async fn run(client: Client, options: Options) {
    let (sender, mut events) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    for (plural, _) in WATCHED {
        watches.spawn(list_and_watch(client.clone(), plural, sender.clone()));
    }
    drop(sender);
    let mut controller = Controller::new(client, options);
    controller.spawn(
        ObjectRef::new("nodes", "", node::NAME),
        vec![Action::Create("nodes", node::new())],
    );
    let mut synced = BTreeSet::new();
    loop {
        // Reconciles start when the cache has all kinds.
        if synced.len() == WATCHED.len() {
            controller.reconcile_queued();
        }
        let due = controller.timers.first().map(|(time, _)| *time);
        tokio::select! {
            event = events.recv() => match event {
                Some(CacheEvent::Listed(plural, objects)) => {
                    synced.insert(plural);
                    controller.replace(plural, objects);
                }
                Some(CacheEvent::Applied(plural, object)) => controller.apply(plural, object),
                Some(CacheEvent::Deleted(plural, object)) => controller.delete(plural, &object),
                None => return,
            },
            Some(result) = controller.tasks.join_next() => controller.finish(result),
            () = sleep_until(due) => {}
            () = tokio::task::yield_now(), if controller.has_work() => {}
        }
    }
}

/// The cache and the work queue.
struct Controller {
    client: Client,
    options: Options,
    cache: Cache,
    queue: BTreeSet<ObjectRef>,
    /// Objects whose plans are being executed; true if the object changed meanwhile and must be reconciled again.
    in_progress: HashMap<ObjectRef, bool>,
    /// The stage of the delayed actions of each object, and when they are due.
    delayed: HashMap<ObjectRef, (String, Instant)>,
    timers: BTreeSet<(Instant, ObjectRef)>,
    /// How often the plan of an object has failed in a row, and why the last time.
    failures: HashMap<ObjectRef, (u32, String)>,
    tasks: JoinSet<(ObjectRef, Execution)>,
}

impl Controller {
    fn new(client: Client, options: Options) -> Self {
        Self {
            client,
            options,
            cache: Cache::default(),
            queue: BTreeSet::new(),
            in_progress: HashMap::new(),
            delayed: HashMap::new(),
            timers: BTreeSet::new(),
            failures: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    fn replace(&mut self, plural: &'static str, objects: Vec<Value>) {
        for stale in self.cache.retain(plural, &objects) {
            self.enqueue(objects_to_reconcile(
                &self.cache,
                plural,
                Some(&stale),
                None,
            ));
        }
        for object in objects {
            self.apply(plural, object);
        }
    }

    fn apply(&mut self, plural: &'static str, object: Value) {
        self.store(plural, object, Cache::apply);
    }

    fn store(
        &mut self,
        plural: &'static str,
        object: Value,
        store: fn(&mut Cache, &'static str, Value) -> bool,
    ) {
        let id = ObjectRef::of(plural, &object);
        let old = self.cache.get(&id).cloned();
        if !store(&mut self.cache, plural, object) {
            return;
        }
        let new = self.cache.get(&id).map(|new| &**new);
        let objects = objects_to_reconcile(&self.cache, plural, old.as_deref(), new);
        self.enqueue(objects);
    }

    fn delete(&mut self, plural: &'static str, object: &Value) {
        self.cache.delete(plural, object);
        let id = ObjectRef::of(plural, object);
        if self.cache.get(&id).is_none() {
            self.delayed.remove(&id);
            self.failures.remove(&id);
        }
        self.enqueue(objects_to_reconcile(
            &self.cache,
            plural,
            Some(object),
            None,
        ));
    }

    fn enqueue(&mut self, objects: Vec<ObjectRef>) {
        for object in objects {
            match self.in_progress.get_mut(&object) {
                Some(again) => *again = true,
                None => {
                    self.queue.insert(object);
                }
            }
        }
    }

    /// Reconciles the objects in the queue as long as plans may be executed.
    fn reconcile_queued(&mut self) {
        let now = Instant::now();
        while let Some((time, _)) = self.timers.first() {
            if *time > now {
                break;
            }
            if let Some((_, id)) = self.timers.pop_first() {
                self.enqueue(vec![id]);
            }
        }
        for _ in 0..MAX_CONCURRENT {
            if !self.has_work() {
                return;
            }
            let Some(id) = self.queue.pop_first() else {
                return;
            };
            match panics::catch(|| self.reconcile(&id, now)) {
                Ok(actions) => self.start(id, actions),
                Err(panic) => self.retry(report(id, &panic), panic.to_string()),
            }
        }
    }

    /// Whether objects can be reconciled now.
    fn has_work(&self) -> bool {
        !self.queue.is_empty() && self.tasks.len() < MAX_CONCURRENT
    }

    /// Executes actions. A full namespace gets no more pods: those are tried again later.
    fn start(&mut self, id: ObjectRef, mut actions: Vec<Action>) {
        if actions.iter().any(is_pod_creation) {
            let all = actions.len();
            let own = self.cache.list("pods", &id.namespace).count();
            let share = share_of(own, self.cache.count("pods"));
            keep_pods_within(&mut actions, share.saturating_sub(own));
            if actions.len() < all {
                let reason = format!(
                    "the simulated cluster has room for {share} pods in namespace {}",
                    id.namespace
                );
                self.retry(id.clone(), reason);
            }
        }
        if !actions.is_empty() {
            self.spawn(id, actions);
        }
    }

    /// The actions to execute now.
    fn reconcile(&mut self, id: &ObjectRef, now: Instant) -> Vec<Action> {
        let Some(object) = self.cache.get(id) else {
            self.delayed.remove(id);
            return Vec::new();
        };
        let ctx = Context {
            cache: &self.cache,
            options: &self.options,
            now: (self.options.now)(),
            failure: self.failures.get(id).map(|(_, why)| why.as_str()),
        };
        let plan = reconcile(id.plural, object, &ctx);
        let mut actions = plan.actions;
        let Some(delayed) = plan.delayed else {
            self.delayed.remove(id);
            return actions;
        };
        let due = match self.delayed.get(id) {
            Some((stage, due)) if *stage == delayed.stage => *due,
            _ => later(now, delayed.delay),
        };
        if due <= now {
            self.delayed.remove(id);
            actions.extend(delayed.actions);
        } else {
            self.delayed.insert(id.clone(), (delayed.stage, due));
            self.timers.insert((due, id.clone()));
        }
        actions
    }

    fn spawn(&mut self, id: ObjectRef, actions: Vec<Action>) {
        if matches!(actions.as_slice(), [Action::Bind(_), ..]) {
            self.cache.begin_binding(&id);
        }
        self.in_progress.insert(id.clone(), false);
        let client = self.client.clone();
        self.tasks.spawn(async move {
            match panics::catch_async(execute(&client, actions)).await {
                Ok(execution) => (id, execution),
                Err(panic) => (report(id, &panic), Execution::default()),
            }
        });
    }

    fn finish(&mut self, result: Result<(ObjectRef, Execution), tokio::task::JoinError>) {
        let Ok((id, execution)) = result else {
            return;
        };
        for update in execution.updates {
            match update {
                CacheUpdate::Applied(plural, object) => {
                    self.store(plural, object, Cache::apply_ahead);
                }
                CacheUpdate::Deleted(id) => self.delete_ahead(&id),
            }
        }
        self.cache.end_binding(&id);
        let again = self.in_progress.remove(&id).unwrap_or(false);
        let Some(why) = execution.failure else {
            let has_failed = self.failures.remove(&id).is_some();
            if again || has_failed {
                self.queue.insert(id);
            }
            return;
        };
        self.retry(id, why);
    }

    fn retry(&mut self, id: ObjectRef, why: String) {
        let (count, last) = self.failures.entry(id.clone()).or_default();
        let backoff = MIN_BACKOFF
            .saturating_mul(1 << (*count).min(12))
            .min(MAX_BACKOFF);
        *count = count.saturating_add(1);
        *last = why;
        self.timers.insert((later(Instant::now(), backoff), id));
    }

    fn delete_ahead(&mut self, id: &ObjectRef) {
        let old = self.cache.get(id).cloned();
        self.cache.delete_ahead(id);
        self.enqueue(objects_to_reconcile(
            &self.cache,
            id.plural,
            old.as_deref(),
            None,
        ));
    }
}

/// How many pods a namespace may have that has `own` of `all` pods.
fn share_of(own: usize, all: usize) -> usize {
    let others = all.saturating_sub(own);
    MAX_PODS.saturating_sub(others) / 2
}

fn is_pod_creation(action: &Action) -> bool {
    matches!(action, Action::Create("pods", _))
}

/// Drops the actions that create pods for which there is no room.
fn keep_pods_within(actions: &mut Vec<Action>, mut room: usize) {
    actions.retain(|action| {
        if !is_pod_creation(action) {
            return true;
        }
        let has_room = room > 0;
        room = room.saturating_sub(1);
        has_room
    });
}

fn report(id: ObjectRef, panic: &panics::Panic) -> ObjectRef {
    let ObjectRef {
        plural,
        namespace,
        name,
    } = &id;
    tracing::error!(plural, namespace, name, %panic, "the simulation of an object panicked");
    id
}

fn later(now: Instant, delay: Duration) -> Instant {
    let time = now.checked_add(delay);
    time.or_else(|| now.checked_add(MAX_DELAY)).unwrap_or(now)
}

/// Forever if nothing is due.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_full_namespace_leaves_room_for_others() {
        let mut all = 0;
        for expected in [5_000, 2_500, 1_250, 625] {
            let share = share_of(0, all);
            assert_eq!(share, expected);
            all += share;
            assert_eq!(share_of(share, all), share, "it is full");
        }
        assert_eq!(share_of(9_000, 9_000), 5_000);
    }

    #[test]
    fn a_full_namespace_gets_no_more_pods() {
        let create = |plural| Action::Create(plural, json!({}));
        let mut actions = vec![
            create("pods"),
            create("jobs"),
            create("pods"),
            create("pods"),
        ];
        keep_pods_within(&mut actions, 2);
        let pods = actions.iter().filter(|action| is_pod_creation(action));
        assert_eq!((actions.len(), pods.count()), (3, 2));
        keep_pods_within(&mut actions, 0);
        assert_eq!(actions.len(), 1);
    }
}
