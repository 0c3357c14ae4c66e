//! Resolves the inputs of plugins in tasks of their own: a repository or a cluster that does not answer occupies no reconcile
//! slot, and delays only the plugins that need it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use outrigger_api::plugin::Plugin;
use tokio::sync::Notify;

use crate::context::Context;
use crate::error::ReconcileError;
use crate::key::Key;
use crate::observe::{self, AwaitedInput, AwaitedReporter, ResolvedInputs};
use crate::references::ReadVersions;
use crate::task::{self, AbortOnDrop};
use crate::watch_event::WatchEvent;

/// How long a reconcile waits for its inputs before it goes on without them. Most are resolved sooner.
const GRACE: Duration = Duration::from_millis(50);

/// The result of a resolution, and the references that it read.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) inputs: Result<ResolvedInputs, ReconcileError>,
    pub(crate) read: ReadVersions,
}

/// Whether the inputs are known, or what they wait for.
#[derive(Debug)]
pub(crate) enum Resolution {
    Resolved(Box<Resolved>),
    /// Goes on in the background. [`WatchEvent::ResolutionChanged`] reports the end, and that it waits for something else.
    Pending(AwaitedInput),
}

/// The running resolutions, at most one per plugin.
#[derive(Debug, Default)]
pub(crate) struct Resolutions {
    running: Mutex<HashMap<Key, Running>>,
}

#[derive(Debug)]
struct Running {
    uid: Option<String>,
    generation: Option<i64>,
    state: Arc<State>,
    _task: AbortOnDrop,
}

#[derive(Debug)]
struct State {
    progress: Mutex<Progress>,
    finished: Notify,
    /// What it waits for is not what the status says.
    changed: Notify,
}

#[derive(Debug)]
struct Progress {
    awaited: AwaitedInput,
    resolved: Option<Box<Resolved>>,
    /// Whether no reconcile waits for it any more.
    is_detached: bool,
}

impl Resolutions {
    /// Takes the result of the running resolution, or starts one and waits for it a short time.
    pub(crate) async fn resolve(
        &self,
        ctx: &Arc<Context>,
        key: &Key,
        plugin: &Arc<Plugin>,
    ) -> Resolution {
        let (state, is_new) = self.get_or_start(ctx, key, plugin);
        if is_new {
            // It takes the result, or finds that there is none yet.
            let _ = tokio::time::timeout(GRACE, state.finished.notified()).await;
        }
        let resolution = state.take_or_detach();
        if matches!(resolution, Resolution::Resolved(_)) {
            self.cancel(key);
        }
        resolution
    }

    fn get_or_start(
        &self,
        ctx: &Arc<Context>,
        key: &Key,
        plugin: &Arc<Plugin>,
    ) -> (Arc<State>, bool) {
        let mut running = lock(&self.running);
        if let Some(running) = running.get(key).filter(|running| running.is_for(plugin)) {
            return (Arc::clone(&running.state), false);
        }
        let state = Arc::new(State::new(plugin));
        let task = run(
            Arc::clone(ctx),
            key.clone(),
            Arc::clone(plugin),
            Arc::clone(&state),
        );
        let started = Running {
            uid: plugin.metadata.uid.clone(),
            generation: plugin.metadata.generation,
            state: Arc::clone(&state),
            _task: task::spawn(task),
        };
        running.insert(key.clone(), started);
        (state, true)
    }

    /// Stops the resolution of a plugin, because its inputs changed or are no longer needed.
    pub(crate) fn cancel(&self, key: &Key) {
        lock(&self.running).remove(key);
    }

    /// Stops the resolutions of all plugins for which `is_needed` is false.
    pub(crate) fn retain(&self, is_needed: impl Fn(&Key) -> bool) {
        lock(&self.running).retain(|key, _| is_needed(key));
    }
}

impl Running {
    fn is_for(&self, plugin: &Plugin) -> bool {
        self.uid == plugin.metadata.uid && self.generation == plugin.metadata.generation
    }
}

impl State {
    fn new(plugin: &Plugin) -> Self {
        let progress = Progress {
            awaited: AwaitedInput::first_of(plugin),
            resolved: None,
            is_detached: false,
        };
        Self {
            progress: Mutex::new(progress),
            finished: Notify::new(),
            changed: Notify::new(),
        }
    }

    fn report(&self, awaited: AwaitedInput) {
        let mut progress = lock(&self.progress);
        if progress.is_detached && progress.awaited != awaited {
            self.changed.notify_one();
        }
        progress.awaited = awaited;
    }

    fn take_or_detach(&self) -> Resolution {
        let mut progress = lock(&self.progress);
        if let Some(resolved) = progress.resolved.take() {
            return Resolution::Resolved(resolved);
        }
        progress.is_detached = true;
        Resolution::Pending(progress.awaited.clone())
    }

    /// Returns whether the controller must be notified, because no reconcile waits for the result.
    fn finish(&self, resolved: Resolved) -> bool {
        let mut progress = lock(&self.progress);
        progress.resolved = Some(Box::new(resolved));
        self.finished.notify_one();
        progress.is_detached
    }
}

async fn run(ctx: Arc<Context>, key: Key, plugin: Arc<Plugin>, state: Arc<State>) {
    let mut read = ReadVersions::new();
    let report: AwaitedReporter = {
        let state = Arc::clone(&state);
        Arc::new(move |awaited| state.report(awaited))
    };
    let inputs = {
        let inputs = observe::resolve_inputs(&ctx, &plugin, &mut read, &report);
        let mut inputs = std::pin::pin!(inputs);
        loop {
            tokio::select! {
                inputs = &mut inputs => break inputs,
                () = state.changed.notified() => notify(&ctx, &key).await,
            }
        }
    };
    if state.finish(Resolved { inputs, read }) {
        notify(&ctx, &key).await;
    }
}

/// Has the plugin reconciled.
async fn notify(ctx: &Context, key: &Key) {
    // Fails only if the controller has stopped.
    let _ = ctx
        .events
        .send(WatchEvent::ResolutionChanged(key.clone()))
        .await;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
