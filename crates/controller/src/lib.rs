//! The controller: keeps the releases of plugins installed, up to date, healthy, and in dependency order, and runs the
//! flows of clusters on their machines.
//!
//! ```text
//! watches ─events→ controller ─observed→ decide (pure) ─→ observe ─→ act ─outcome→ status, events ─→ API server
//!                      │ index: plugins, references, objects                           │
//!                      └──────────────────────────── written plugin ◄─────────────────┘
//! ```
//!
//! Nothing is polled: a plugin is reconciled when it, one of its dependencies, references or objects changes, or when a
//! retry or a deadline is due. Each plugin is reconciled by one task at a time.

mod act;
mod backoff;
mod clusters;
mod conditions;
mod context;
mod controller;
pub mod crds;
mod decide;
mod digest;
mod error;
mod events;
mod file_overrides;
mod graph;
mod health_rules;
mod index;
mod key;
pub mod leader_election;
mod lifecycle;
mod lineage;
mod metrics;
mod mirror;
mod objects;
mod observe;
mod observed;
mod pending_status;
mod pods;
mod preview;
mod queue;
mod reconcile;
mod redact;
mod references;
mod release_claims;
mod release_ref;
mod repository_status;
mod resolution;
mod sources;
mod status;
mod target;
mod task;
mod trust;
mod values;
mod version_range;
mod watch_event;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use outrigger_repository::Fetcher;
use tokio::sync::mpsc;

pub use backoff::Backoff;
pub use clusters::{ClusterOptions, login as machine_login};
pub use key::Key;
pub use metrics::Metrics;
pub use trust::{ClusterRules, Trust};

pub use preview::{PreviewError, preview};

use crate::context::Context;
use crate::controller::Controller;
use crate::leader_election::LeaderElector;
use crate::sources::{Repositories, Sources};

/// Capacity of the channel from the watches to the controller.
const EVENT_CAPACITY: usize = 1024;

#[derive(Debug, Clone)]
pub struct Options {
    /// The namespaces whose plugins are reconciled; all if empty.
    pub namespaces: Vec<String>,
    /// The registry for the images of plugins that do not name one.
    pub image_registry: Option<String>,
    pub max_concurrent_reconciles: usize,
    /// How long a phase such as `Installing` must last before it is written to the status.
    pub status_delay: Duration,
    /// How long the objects of a Ready plugin may be in progress, for example to scale, before it is Degraded.
    pub progress_grace: Duration,
    /// Delays between attempts.
    pub backoff: Backoff,
    /// How often every plugin is reconciled although nothing changed, to find new chart versions.
    pub resync_period: Duration,
    /// Without it, the controller starts at once.
    pub leader_election: Option<leader_election::Options>,
    /// Whether objects of KubeGems and TKEStack are mirrored.
    pub compat: bool,
    pub fetcher: outrigger_repository::Options,
    /// What plugins may make the controller do.
    pub trust: Trust,
    /// Where the controller counts what it does.
    pub metrics: Arc<Metrics>,
    /// How clusters and machines are reconciled. Without it, they are not.
    pub clusters: Option<ClusterOptions>,
    /// The wall clock.
    pub now: fn() -> Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespaces: Vec::new(),
            image_registry: None,
            max_concurrent_reconciles: 16,
            status_delay: Duration::from_secs(1),
            progress_grace: Duration::from_secs(10),
            backoff: Backoff::default(),
            resync_period: Duration::from_mins(10),
            leader_election: None,
            compat: false,
            fetcher: outrigger_repository::Options::default(),
            trust: Trust::default(),
            metrics: Arc::default(),
            clusters: None,
            now: Timestamp::now,
        }
    }
}

/// Runs the controller until `shutdown` completes. The CRDs must be installed.
pub async fn run(client: Client, options: Options, shutdown: impl Future<Output = ()>) {
    let mut shutdown = std::pin::pin!(shutdown);
    let Some(election) = options.leader_election.clone() else {
        run_controller(client, options, shutdown).await;
        return;
    };
    let mut elector = LeaderElector::new(client.clone(), election, options.now);
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            () = elector.acquire() => {}
        }
        tracing::info!("acquired leadership");
        let mut is_shutdown = false;
        let stop = async {
            tokio::select! {
                () = &mut shutdown => is_shutdown = true,
                () = elector.renew() => tracing::warn!("lost leadership"),
            }
        };
        let stopped = run_controller(client.clone(), options.clone(), stop).await;
        if is_shutdown {
            elector.release().await;
            // What it knows may be large; the next leader does not wait until it is freed.
            drop(stopped);
            return;
        }
    }
}

/// Runs the controller until `stop` completes. Returns it without running tasks.
async fn run_controller(
    client: Client,
    options: Options,
    stop: impl Future<Output = ()>,
) -> Controller {
    let metrics = Arc::clone(&options.metrics);
    metrics.set_leader(true);
    let (sender, receiver) = mpsc::channel(EVENT_CAPACITY);
    let sources = Sources {
        client: client.clone(),
        fetcher: Fetcher::new(options.fetcher.clone()),
        repositories: Repositories::default(),
    };
    let mirror = options.compat.then(|| {
        let mirror = mirror::run(client.clone(), options.now);
        task::spawn(mirror)
    });
    let repository_status = repository_status::run(sources.clone(), options.clone());
    let repository_status = task::spawn(repository_status);
    let ctx = Context::new(client, options, sources, sender);
    let mut controller = Controller::new(ctx, receiver);
    controller.run(stop).await;
    drop((mirror, repository_status));
    metrics.set_leader(false);
    controller
}
