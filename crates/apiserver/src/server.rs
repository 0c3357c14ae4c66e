//! The server: everything put together, with two ways in.
//!
//! [`Server::service`] is the way for code in the same process, a [`tower_service::Service`] without a socket.
//! [`Server::serve`] is the way over HTTPS. Both go through the same steps: who asks, may they, what do they ask for.

mod body;
mod cluster_state;
mod documents;
mod metrics;
mod service;
mod shapes;
mod state;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use body::Body;
pub(crate) use cluster_state::Lookup;
pub use service::Service;
pub(crate) use shapes::{Shape, Shapes};
pub(crate) use state::{State, time_text};

use crate::auth::{StaticTokens, aggregate, token_secrets};
use crate::boot;
use crate::gc;
use crate::local::Local;
use outrigger_store::{self as store, Store};

/// How a server is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where objects are kept.
    pub store: store::Options,
    /// Who is known by a token beside the administrator.
    pub tokens: StaticTokens,
    /// Tells the time of day.
    pub now: fn() -> Timestamp,
}

impl Options {
    /// A server that forgets everything when it ends.
    pub fn in_memory() -> Self {
        Self {
            store: store::Options::in_memory(),
            tokens: StaticTokens::default(),
            now: Timestamp::now,
        }
    }

    /// A server that keeps everything in a folder, which is made if it is not there.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            store: store::Options::in_folder(folder),
            tokens: StaticTokens::default(),
            now: Timestamp::now,
        }
    }
}

/// Why a server does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Store(#[from] store::OpenError),
    #[error(transparent)]
    Credentials(#[from] crate::transport::CredentialsError),
    #[error("failed to write the objects that every cluster has")]
    Boot(#[source] outrigger_apimachinery::status::Status),
}

/// Simulated nodes. While a simulation is attached, the server stores webhook configurations that it cannot call, with
/// a warning, instead of rejecting them.
pub trait Simulation: std::fmt::Debug + Send + Sync {
    /// The log of a container; none if the pod is not simulated. An empty name stands for the first container.
    fn pod_log(&self, pod: &serde_json::Value, container: &str) -> Option<String>;
}

/// An open server. It goes on until [`Server::close`].
#[derive(Debug)]
pub struct Server {
    pub(crate) state: Arc<State>,
    pub(crate) closing: watch::Sender<bool>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Server {
    /// Opens the store, and writes what every cluster has. Must be called inside a Tokio runtime.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let folder = options.store.folder.clone();
        let store = Store::open(options.store)?;
        let credentials = crate::transport::ServerCredentials::load(folder.as_deref())?;
        let mut auth = credentials.auth()?;
        auth.tokens = options.tokens;
        let (closing, closed) = watch::channel(false);
        let state = Arc::new(State::new(store, auth, credentials, options.now, closed));
        boot::load(&state);
        boot::create_objects(&state)
            .await
            .map_err(OpenError::Boot)?;
        state.start();
        let server = Self {
            state,
            closing,
            tasks: Mutex::new(Vec::new()),
        };
        server.spawn(crate::lifecycle::run(Arc::clone(&server.state)));
        Ok(server)
    }

    /// The way in for this process; requests are those of the server itself.
    pub fn service(&self) -> Service {
        Service::internal(Arc::clone(&self.state))
    }

    /// Starts what works on objects beside requests.
    pub fn run_controllers(&self) {
        let local = Local::new(self.service(), "generic-garbage-collector");
        let store = self.state.store.clone();
        let aggregation = local.named("clusterrole-aggregation-controller");
        self.spawn(until(
            self.state.closed.clone(),
            aggregate::run(aggregation, store),
        ));
        let tokens = local.named("tokens-controller");
        let certificates = self.state.credentials.root_certificate().to_owned();
        self.spawn(until(
            self.state.closed.clone(),
            token_secrets::run(tokens, self.state.auth.clone(), certificates),
        ));
        let state = Arc::clone(&self.state);
        let kinds = Arc::new(move || state.registry.snapshot());
        let closed = self.state.closed.clone();
        self.spawn(gc::run(local, self.state.store.clone(), kinds, closed));
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

    /// Ends watches and connections, finishes writes and releases the folder.
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

/// Ends a task when the server closes.
async fn until(mut closed: watch::Receiver<bool>, task: impl Future<Output = ()>) {
    tokio::select! {
        () = task => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
}

/// Set once, when a server begins to listen.
pub(crate) type Address = OnceLock<String>;
