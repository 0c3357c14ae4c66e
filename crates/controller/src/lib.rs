//! What keeps plugins installed, healthy and in order.
//!
//! ```text
//! watches ─news→ engine ─facts→ decide (pure) ─→ observe ─→ act ─status, events→ API server
//!                 │ world: plugins, references, objects     │
//!                 └───────────────── what was written ──────┘
//! ```
//!
//! Nothing is polled: a plugin is looked at when it changes, when what it depends on or takes values from changes, when
//! one of its objects changes, or when a time that was set has come. Each is worked on by one worker at a time.

mod act;
mod backoff;
mod conditions;
mod context;
mod decide;
pub mod definitions;
mod digest;
mod draft;
mod engine;
mod events;
mod facts;
mod file_overrides;
mod graph;
mod key;
pub mod lease;
mod mirror;
mod news;
mod objects;
mod observe;
mod pass;
mod preview;
mod queue;
mod references;
mod repository_status;
mod sources;
mod status;
mod target;
mod trouble;
mod values;
mod version_range;
mod watches;
mod world;

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use outrigger_repository::Fetcher;
use tokio::sync::mpsc;

pub use backoff::Backoff;
pub use key::Key;
pub use preview::{Problem, preview};

use crate::context::Context;
use crate::engine::Engine;
use crate::sources::{Repositories, Sources};

/// News that may wait.
const NEWS: usize = 1024;

/// How the controller works.
#[derive(Debug, Clone)]
pub struct Options {
    /// The namespaces whose plugins it cares for; all if empty.
    pub namespaces: Vec<String>,
    /// The registry that images of plugins come from that name none.
    pub image_registry: Option<String>,
    /// How many plugins are worked on at a time.
    pub parallel: usize,
    /// How long work may take before it is told that it goes on.
    pub tell_after: Duration,
    /// Pauses between attempts.
    pub backoff: Backoff,
    /// How often everything is looked at though nothing happened: for new charts.
    pub resync: Duration,
    /// How leadership is held; none to work without asking others.
    pub lease: Option<lease::Options>,
    /// Whether objects of KubeGems and TKEStack are mirrored.
    pub compat: bool,
    /// Where charts come from.
    pub fetcher: outrigger_repository::Options,
    /// Tells the time of day.
    pub now: fn() -> Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespaces: Vec::new(),
            image_registry: None,
            parallel: 16,
            tell_after: Duration::from_secs(1),
            backoff: Backoff::default(),
            resync: Duration::from_mins(10),
            lease: None,
            compat: false,
            fetcher: outrigger_repository::Options::default(),
            now: Timestamp::now,
        }
    }
}

/// Works until `shutdown` ends. The definitions of the kinds must be there.
pub async fn run(client: Client, options: Options, shutdown: impl Future<Output = ()>) {
    let mut shutdown = std::pin::pin!(shutdown);
    let Some(lease) = options.lease.clone() else {
        work(client, options, shutdown).await;
        return;
    };
    let mut hold = lease::Hold::new(client.clone(), lease, options.now);
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            () = hold.acquire() => {}
        }
        tracing::info!("leads");
        let is_over = {
            let mut is_over = false;
            let stop = async {
                tokio::select! {
                    () = &mut shutdown => is_over = true,
                    () = hold.keep() => tracing::warn!("leads no more"),
                }
            };
            work(client.clone(), options.clone(), stop).await;
            is_over
        };
        if is_over {
            hold.release().await;
            return;
        }
    }
}

async fn work(client: Client, options: Options, stop: impl Future<Output = ()>) {
    let (sender, receiver) = mpsc::channel(NEWS);
    let sources = Sources {
        client: client.clone(),
        fetcher: Fetcher::new(options.fetcher.clone()),
        repositories: Repositories::default(),
    };
    let mirror = options.compat.then(|| {
        let mirror = mirror::run(client.clone(), options.now);
        watches::spawn(mirror)
    });
    let shelves = repository_status::run(sources.clone(), options.clone());
    let shelves = watches::spawn(shelves);
    let ctx = Context::new(client, options, sources, sender);
    Engine::new(ctx, receiver).run(stop).await;
    drop((mirror, shelves));
}
