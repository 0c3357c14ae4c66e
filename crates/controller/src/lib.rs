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
mod named_cluster;
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
mod supervision;
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

pub use backoff::Backoff;
pub use clusters::{ClusterOptions, login as machine_login};
pub use key::Key;
pub use metrics::Metrics;
pub use supervision::{Workers, run, run_on};
pub use trust::{ClusterRules, Trust};

pub use preview::{Preview, PreviewError, dry_run, preview};

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
    /// How clusters and machines are reconciled. Without it, they are not, and neither are plugins that target a cluster by
    /// name.
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
