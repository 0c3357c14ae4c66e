//! The API server.
//!
//! [`Server::service`] serves callers in the same process, [`Server::serve`] serves HTTPS. Both use the same handler
//! chain: authentication, authorization, routing, then the verb.

pub mod backup;
pub mod body;
mod computed_body;
mod expensive;
mod health;
mod lookup;
mod metrics;
mod non_resource;
mod parsed_objects;
mod policies;
mod request_body;
mod response_memory;
mod schemas;
mod service;
mod spliced_list;
mod state;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use outrigger_apimachinery::status::Reason;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use body::Body;
pub(crate) use computed_body::Chunks;
pub(crate) use expensive::Thread;
pub(crate) use lookup::Lookup;
pub(crate) use schemas::{ResourceSchema, SchemaCache};
pub use service::Service;
pub(crate) use spliced_list::SplicedList;
pub(crate) use state::{State, time_text};

use crate::auth::{StaticTokens, cluster_role_aggregation, token_secrets};
use crate::bootstrap;
use crate::gc;
use crate::loopback::Client;
use crate::panics;
use crate::transport::{CredentialsError, ServerCredentials};
use outrigger_store::{self as store, Store};

#[derive(Debug, Clone)]
pub struct Options {
    pub store: store::Options,
    /// Users with static tokens, in addition to the administrator.
    pub tokens: StaticTokens,
    /// The wall clock.
    pub now: fn() -> Timestamp,
}

impl Options {
    /// A server that persists nothing.
    pub fn in_memory() -> Self {
        Self {
            store: store::Options::in_memory(),
            tokens: StaticTokens::default(),
            now: Timestamp::now,
        }
    }

    /// A server with its data in a folder, which is created if needed.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            store: store::Options::in_folder(folder),
            tokens: StaticTokens::default(),
            now: Timestamp::now,
        }
    }
}

/// Why a server cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Store(#[from] store::OpenError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("failed to create the bootstrap objects")]
    Bootstrap(#[source] outrigger_apimachinery::status::Status),
}

/// Simulated nodes. While a simulation is attached, the server stores webhook configurations that it cannot call, with
/// a warning, instead of rejecting them.
pub trait Simulation: std::fmt::Debug + Send + Sync {
    /// The log of a container; none if the pod is not simulated. An empty name stands for the first container.
    fn pod_log(&self, pod: &serde_json::Value, container: &str) -> Option<String>;

    /// Warnings about a written object, whose version before is `old`.
    fn warnings(&self, new: &serde_json::Value, old: Option<&serde_json::Value>) -> Vec<String>;
}

/// An open server. It runs until [`Server::close`].
#[derive(Debug)]
pub struct Server {
    pub(crate) state: Arc<State>,
    pub(crate) closing: watch::Sender<bool>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Server {
    /// Opens the store and creates the bootstrap objects. Must be called inside a Tokio runtime.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let store = Store::open(options.store)?;
        let opened = Self::open_on(store.clone(), options.tokens, options.now).await;
        if opened.is_err() {
            // Unlocks the folder, so that it can be opened again.
            store.close().await;
        }
        opened
    }

    async fn open_on(
        store: Store,
        tokens: StaticTokens,
        now: fn() -> Timestamp,
    ) -> Result<Self, OpenError> {
        let credentials = ServerCredentials::load(store.folder())?;
        let mut auth = credentials.auth()?;
        auth.tokens = tokens;
        let (closing, closed) = watch::channel(false);
        let state = Arc::new(State::new(store, auth, credentials, now, closed));
        let is_new = state.store.snapshot().resources().next().is_none();
        bootstrap::load(&state);
        match bootstrap::create_objects(&state).await {
            // Objects that this version adds are missing, but objects can be deleted.
            Err(status) if !is_new && status.reason == Some(Reason::InsufficientStorage) => {
                tracing::warn!(error = %status.message, "failed to create the bootstrap objects");
            }
            created => created.map_err(OpenError::Bootstrap)?,
        }
        crate::controllers::flow_control::configure(&state);
        state.start();
        let server = Self {
            state,
            closing,
            tasks: Mutex::new(Vec::new()),
        };
        for (name, run) in crate::controllers::ALL {
            let state = Arc::clone(&server.state);
            server.supervise(name, move || run(Arc::clone(&state)));
        }
        Ok(server)
    }

    /// The service for callers in this process; requests have the identity of the server itself.
    pub fn service(&self) -> Service {
        Service::internal(Arc::clone(&self.state))
    }

    /// Starts the controllers.
    pub fn run_controllers(&self) {
        let client = |manager| Client::new(self.service(), manager);
        let store = self.state.store.clone();
        let name = "clusterrole-aggregation-controller";
        let aggregation = client(name);
        self.supervise(name, move || {
            cluster_role_aggregation::run(aggregation.clone(), store.clone())
        });
        let name = "tokens-controller";
        let (tokens, auth) = (client(name), self.state.auth.clone());
        let certificates = self.state.credentials.root_certificate().to_owned();
        self.supervise(name, move || {
            token_secrets::run(tokens.clone(), auth.clone(), certificates.clone())
        });
        let name = "generic-garbage-collector";
        let (collector, store) = (client(name), self.state.store.clone());
        let state = Arc::clone(&self.state);
        let kinds: gc::ServedKinds = Arc::new(move || state.registry.snapshot());
        self.supervise(name, move || {
            gc::run(collector.clone(), store.clone(), Arc::clone(&kinds))
        });
    }

    /// Runs a task like [`Server::spawn`], and again after each panic.
    pub fn supervise<F>(&self, name: &'static str, task: impl FnMut() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(panics::supervise(name, self.closed(), task));
    }

    /// Declares that workloads are simulated. Not for a server whose pods run somewhere.
    pub fn attach_simulation(&self, simulation: Arc<dyn Simulation>) {
        self.state.attach_simulation(simulation);
    }

    /// Becomes true when the server closes.
    pub fn closed(&self) -> watch::Receiver<bool> {
        self.state.closed.clone()
    }

    pub fn store(&self) -> &Store {
        &self.state.store
    }

    /// Runs a task that [`Server::close`] waits for; the task ends itself when [`Server::closed`] becomes true.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(tokio::spawn(task));
    }

    /// Ends watches and connections, commits queued writes and unlocks the folder.
    pub async fn close(self) {
        self.closing.send_replace(true);
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            // A task that panicked has reported it.
            let _ = task.await;
        }
        self.state.store.close().await;
    }
}

/// Set once, when the server listens.
pub(crate) type Address = OnceLock<String>;
