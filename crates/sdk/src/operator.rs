//! The operator: handlers by step, and the loop that starts them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt as _};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::{ANY_OPERATOR, Cluster};
use outrigger_api::machine::Machine;
use outrigger_api::step;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::Delegation;
use crate::object::{Object, waiting};
use crate::work::{Work, release};

/// How long releasing leases may take at the end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) type Handler =
    Arc<dyn Fn(Delegation) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Why an operator does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A handler is for a step that does not exist.
    #[error("step {step} does not exist{}", suggestion(*.nearest))]
    UnknownStep {
        /// The name that was given.
        step: String,
        /// The id that is most similar.
        nearest: Option<&'static str>,
    },
    /// A handler is for a step that clusters cannot delegate.
    #[error("step {0} cannot be delegated")]
    NotDelegable(&'static str),
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(": did you mean {nearest}?"))
}

/// What happens when a handler fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often a handler is called before its failure is reported. Zero counts as one.
    pub attempts: u32,
    /// The delay after the first failure; it doubles with each one.
    pub initial_delay: Duration,
    /// The longest delay.
    pub max_delay: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_mins(1),
        }
    }
}

/// Does steps that are delegated to it. See the documentation of the crate.
#[derive(Clone)]
pub struct Operator {
    pub(crate) client: Client,
    /// The owner of delegations, as in `spec.features.delegation.owner`.
    name: String,
    /// Identifies this process as the holder of leases.
    pub(crate) holder: String,
    pub(crate) lease: Duration,
    pub(crate) retry: Retry,
    handlers: BTreeMap<String, Handler>,
}

/// An object that changed, or one that is gone.
enum Change {
    Cluster(String, Option<Box<Cluster>>),
    Machine(String, Option<Box<Machine>>),
}

impl Operator {
    /// An operator with a name, which `spec.features.delegation.owner` of clusters refers to. Steps of clusters that name
    /// no operator are done as well.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            client,
            holder: format!("{name}-{:016x}", getrandom::u64().unwrap_or_default()),
            name,
            lease: Duration::from_secs(30),
            retry: Retry::default(),
            handlers: BTreeMap::new(),
        }
    }

    /// The name, which is the owner of delegations.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the handler of a step. Whatever error it returns is shown to users with `{:#}`.
    #[must_use]
    pub fn on<F, R, E>(mut self, step: &str, handler: F) -> Self
    where
        F: Fn(Delegation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Display,
    {
        let handler: Handler = Arc::new(move |delegation| {
            let call = handler(delegation);
            Box::pin(async move { call.await.map_err(|error| format!("{error:#}")) })
        });
        self.handlers.insert(step.to_owned(), handler);
        self
    }

    /// Sets how often a handler is called before its failure is reported.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets how long other replicas wait for this one after its last sign of life. 30 seconds unless set.
    #[must_use]
    pub fn lease(mut self, duration: Duration) -> Self {
        self.lease = duration;
        self
    }

    /// Does steps until `shutdown`. Then handlers are dropped, and their leases released for other replicas.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let handlers = self.resolved()?;
        let mut changes = self.changes();
        let mut works = Works {
            operator: Arc::new(self),
            handlers,
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
        };
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(Change::Cluster(name, cluster)) => works.update(&name, cluster.as_deref()),
                    Some(Change::Machine(name, machine)) => works.update(&name, machine.as_deref()),
                    None => break,
                },
                Some(_) = works.tasks.join_next() => {}
                () = &mut shutdown => break,
            }
        }
        works.stop().await;
        Ok(())
    }

    /// The handlers by the ids of their steps.
    fn resolved(&self) -> Result<BTreeMap<&'static str, Handler>, Error> {
        let mut resolved = BTreeMap::new();
        for (name, handler) in &self.handlers {
            let id = step::find(name).ok_or_else(|| Error::UnknownStep {
                step: name.clone(),
                nearest: step::nearest_id(name),
            })?;
            if !step::is_delegable(id) {
                return Err(Error::NotDelegable(id));
            }
            resolved.insert(id, Arc::clone(handler));
        }
        Ok(resolved)
    }

    fn changes(&self) -> BoxStream<'static, Change> {
        let clusters = changed::<Cluster>(&self.client);
        let clusters = clusters.map(|(name, object)| Change::Cluster(name, object));
        let machines = changed::<Machine>(&self.client);
        let machines = machines.map(|(name, object)| Change::Machine(name, object));
        futures::stream::select(clusters, machines).boxed()
    }
}

/// The objects of a kind as they change. The watcher reconnects with backoff.
fn changed<K: Object>(client: &Client) -> BoxStream<'static, (String, Option<Box<K>>)> {
    use kube::runtime::WatchStreamExt as _;
    let api: Api<K> = Api::all(client.clone());
    let events = watcher(api, Config::default()).default_backoff();
    let changes = events.filter_map(async |event| match event {
        Ok(Event::Apply(object) | Event::InitApply(object)) => {
            Some((object.name_any(), Some(Box::new(object))))
        }
        Ok(Event::Delete(object)) => Some((object.name_any(), None)),
        Ok(Event::Init | Event::InitDone) => None,
        Err(error) => {
            tracing::warn!(error = %error, "failed to watch");
            None
        }
    });
    changes.boxed()
}

/// The steps that are being done, by kind, object and step.
struct Works {
    operator: Arc<Operator>,
    handlers: BTreeMap<&'static str, Handler>,
    running: BTreeMap<Key, Running>,
    tasks: JoinSet<()>,
}

type Key = (&'static str, String, &'static str);

struct Running {
    task: tokio::task::AbortHandle,
    /// Notified when the object changes.
    changed: Arc<Notify>,
    /// Releases the lease.
    release: Box<dyn Fn() -> BoxFuture<'static, ()> + Send>,
}

impl Works {
    /// Starts the steps that an object waits for, and ends those that it does not wait for any more.
    fn update<K: Object>(&mut self, name: &str, object: Option<&K>) {
        let steps: Vec<&'static str> = self.handlers.keys().copied().collect();
        for step in steps {
            let key = (std::any::type_name::<K>(), name.to_owned(), step);
            let is_due = object.is_some_and(|object| self.is_due(object, step));
            match (is_due, self.running.get(&key)) {
                (true, Some(running)) if !running.task.is_finished() => {
                    running.changed.notify_one();
                }
                (true, _) => self.start::<K>(key),
                (false, Some(running)) => {
                    running.task.abort();
                    self.running.remove(&key);
                }
                (false, None) => {}
            }
        }
    }

    fn is_due<K: Object>(&self, object: &K, step: &str) -> bool {
        let owner = waiting(object, step).map(|task| task.owner.as_deref());
        owner.is_some_and(|owner| {
            owner.is_none_or(|owner| owner == self.operator.name || owner == ANY_OPERATOR)
        })
    }

    fn start<K: Object>(&mut self, key: Key) {
        let Some(handler) = self.handlers.get(key.2).map(Arc::clone) else {
            return;
        };
        let (name, step) = (key.1.clone(), key.2);
        let operator = Arc::clone(&self.operator);
        let changed = Arc::new(Notify::new());
        let work = Work::<K> {
            api: Api::all(operator.client.clone()),
            operator: Arc::clone(&operator),
            name: name.clone(),
            step,
            handler,
            changed: Arc::clone(&changed),
        };
        let running = Running {
            task: self.tasks.spawn(work.run()),
            changed,
            release: Box::new(move || {
                Box::pin(release::<K>(Arc::clone(&operator), name.clone(), step))
            }),
        };
        self.running.insert(key, running);
    }

    async fn stop(mut self) {
        self.tasks.shutdown().await;
        let releases = self.running.values().map(|running| (running.release)());
        let releases = futures::future::join_all(releases);
        if tokio::time::timeout(RELEASE_TIMEOUT, releases)
            .await
            .is_err()
        {
            tracing::warn!("failed to release leases in time; they expire");
        }
    }
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field("steps", &self.handlers.keys())
            .finish_non_exhaustive()
    }
}
