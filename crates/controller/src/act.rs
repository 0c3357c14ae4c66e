//! Doing what was decided: install, change, correct, remove. Each can be stopped at any point and begun again.

mod inventory;
mod material;
mod preview;
mod removal;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kube::Client;
use outrigger_api::duration;
use outrigger_api::plugin::{CrdPolicy, InventoryEntry, Plugin};
use outrigger_chart::manifest::hook::Event as HookEvent;
use outrigger_release::{Action, ActionError, Cluster, Outcome, Progress, ReleaseId, Rule, Rules};

use crate::conditions::{APPLIED, RENDERED};
use crate::context::Context;
use crate::decide::Obstacle;
use crate::facts::Applied;
use crate::key::Key;
use crate::news::News;
use crate::objects::Place;
use crate::observe::Wanted;
use crate::pass::Pass;
use crate::trouble::{self, Trouble};

pub(crate) use preview::plan;
pub(crate) use removal::{cascade, remove};

/// Longest notes that are kept in the status.
const LONGEST_NOTES: usize = 4096;

/// Installs or changes a plugin. Gives the revision that is in the cluster now.
pub(crate) async fn install(pass: &mut Pass, wanted: &Wanted) -> Result<i64, Trouble> {
    let plugin = Arc::clone(&pass.facts.plugin);
    let planned = Arc::new(Mutex::new(Vec::new()));
    let listener = Listener::new(pass);
    let ctx = Arc::clone(&pass.ctx);
    let work = perform(&ctx.options, &plugin, wanted, &planned, &listener);
    let work = Box::pin(work);
    let result = watched(pass, work, &listener).await;
    if result.is_err() {
        // What may be there now is what was there and what was planned.
        let planned = std::mem::take(&mut *lock(&planned));
        inventory::unite(&mut pass.draft.status.inventory, planned);
    }
    let outcome = result?;
    Ok(note_outcome(pass, wanted, outcome))
}

/// Puts right what others changed, without a new render where that could change something.
pub(crate) async fn correct(pass: &mut Pass, wanted: &Wanted) -> Result<(), Trouble> {
    let plugin = Arc::clone(&pass.facts.plugin);
    let listener = Listener::new(pass);
    let ctx = Arc::clone(&pass.ctx);
    let work = put_right(&ctx.options, &plugin, wanted, &listener);
    let outcome = watched(pass, Box::pin(work), &listener).await?;
    note_outcome(pass, wanted, outcome);
    Ok(())
}

/// The client that watches a place; none if there is no way there, which the plugins of that place tell.
pub(crate) async fn watching_client(ctx: &Context, place: &Place) -> Option<Client> {
    match ctx.targets.client(place).await {
        Ok(client) => Some(client),
        Err(error) => {
            tracing::info!(%error, "a cluster cannot be watched");
            None
        }
    }
}

/// The health rules of a plugin. Those that cannot be read are told when it is installed.
pub(crate) fn rules(plugin: &Plugin) -> Rules {
    read_rules(plugin).unwrap_or_default()
}

fn read_rules(plugin: &Plugin) -> Result<Rules, outrigger_release::health::InvalidRule> {
    if plugin.spec.health.is_empty() {
        return Ok(Rules::default());
    }
    Rules::new(plugin.spec.health.iter().map(|rule| Rule {
        api_version: rule.api_version.clone(),
        kind: rule.kind.clone(),
        healthy: rule.healthy.clone(),
    }))
}

pub(crate) fn release_id(plugin: &Plugin) -> ReleaseId {
    ReleaseId::new(plugin.release_namespace(), plugin.release_name())
}

fn crds(plugin: &Plugin) -> outrigger_release::CrdPolicy {
    match plugin.spec.crds {
        CrdPolicy::Create => outrigger_release::CrdPolicy::Create,
        CrdPolicy::Replace => outrigger_release::CrdPolicy::Replace,
        CrdPolicy::Skip => outrigger_release::CrdPolicy::Skip,
    }
}

/// How the release of a plugin is worked on.
fn options(
    controller: &crate::Options,
    plugin: &Plugin,
) -> Result<outrigger_release::Options, Trouble> {
    let health_rules = read_rules(plugin)
        .map_err(|error| Trouble::Refuse(Obstacle::new("BadHealthRule", error.to_string())))?;
    let defaults = outrigger_release::Options::default();
    let timeout = plugin.spec.timeout.as_deref().and_then(duration::parse);
    Ok(outrigger_release::Options {
        timeout: timeout.unwrap_or(defaults.timeout),
        wait: false,
        rollback_on_failure: plugin.spec.rollback,
        max_history: plugin.history_limit() as usize,
        crds: crds(plugin),
        create_namespace: true,
        health_rules,
        now: controller.now,
        ..defaults
    })
}

/// The whole way from chart and values to objects.
async fn perform(
    controller: &crate::Options,
    plugin: &Plugin,
    wanted: &Wanted,
    planned: &Mutex<Vec<InventoryEntry>>,
    listener: &Listener,
) -> Result<Outcome, Trouble> {
    let cluster = &wanted.target.cluster;
    let mut options = options(controller, plugin)?;
    let desired = material::desired(controller, plugin, wanted).await?;
    let (past, desired) = (desired.past, desired.desired);
    *lock(&listener.rendered) = Some(desired.objects().len());
    *lock(planned) = inventory::planned(desired.objects());
    // Health is followed by the watches of the controller, unless something is to be done when it is reached.
    let has_later_hooks = desired
        .hooks()
        .iter()
        .any(|hook| hook.runs_at(HookEvent::PostInstall) || hook.runs_at(HookEvent::PostUpgrade));
    options.wait = has_later_hooks || plugin.spec.rollback;
    let observed = outrigger_release::observe(cluster, past, &desired).await;
    let observed = observed.map_err(|error| trouble::release(APPLIED, "ApplyFailed", &error))?;
    let plan = outrigger_release::plan(desired, observed, &options)
        .map_err(|refusal| failed(&refusal.into()))?;
    run(cluster, plan, &options, listener).await
}

async fn run(
    cluster: &Cluster,
    plan: outrigger_release::Plan,
    options: &outrigger_release::Options,
    listener: &Listener,
) -> Result<Outcome, Trouble> {
    let sink = |progress| listener.hear(progress);
    let outcome = outrigger_release::execute(cluster, plan, options, &sink).await;
    outcome.map_err(|failure| failed(&failure))
}

/// Renders again and applies what differs. If the render gives something else, because the chart makes up passwords
/// or the like, the recorded objects are applied instead.
async fn put_right(
    controller: &crate::Options,
    plugin: &Plugin,
    wanted: &Wanted,
    listener: &Listener,
) -> Result<Outcome, Trouble> {
    let cluster = &wanted.target.cluster;
    let mut options = options(controller, plugin)?;
    options.rollback_on_failure = false;
    // Whoever asks for correction wants the fields back.
    options.force_conflicts = true;
    let desired = material::desired(controller, plugin, wanted).await?;
    let (past, desired) = (desired.past, desired.desired);
    let deployed = past.deployed().map(|record| record.revision);
    let observed = outrigger_release::observe(cluster, past, &desired).await;
    let observed = observed.map_err(|error| trouble::release(APPLIED, "ApplyFailed", &error))?;
    let plan = outrigger_release::plan(desired, observed, &options)
        .map_err(|refusal| failed(&refusal.into()))?;
    let is_same = matches!(plan.action, Action::Repair | Action::Nothing);
    match deployed {
        Some(revision) if !is_same => {
            options.run_hooks = false;
            let id = release_id(plugin);
            let sink = |progress| listener.hear(progress);
            let back = outrigger_release::rollback(cluster, &id, Some(revision), &options, &sink);
            back.await.map_err(|failure| failed(&failure))
        }
        _ => run(cluster, plan, &options, listener).await,
    }
}

/// What a failed release means for the plugin.
pub(super) fn failed(failure: &ActionError) -> Trouble {
    let cluster = failure.cluster_error();
    let reason = match failure {
        ActionError::Rejected(_) => "Refused",
        ActionError::Hook { .. } => "HookFailed",
        ActionError::Wait(_) => "Unhealthy",
        ActionError::TimedOut => "Timeout",
        ActionError::Delete(_) => "RemovalFailed",
        ActionError::RolledBack { .. } | ActionError::Uninstalled { .. } => "RolledBack",
        ActionError::RollbackFailed { .. } => "RollbackFailed",
        ActionError::Cluster(_) | ActionError::Apply(_) => "ApplyFailed",
    };
    let reason = match cluster {
        Some(error) if error.is_forbidden() => "Forbidden",
        Some(error) if error.is_transient() => "Unreachable",
        _ => reason,
    };
    let mut message = failure.full_message();
    if let Some(hint) = failure.hint() {
        message.push_str(&format!(" ({hint})"));
    }
    let obstacle = Obstacle::new(reason, message);
    if failure.is_transient() {
        Trouble::Unanswered {
            condition: APPLIED,
            obstacle,
        }
    } else {
        Trouble::Failed {
            condition: APPLIED,
            obstacle,
        }
    }
}

/// What goes into the status after a success.
fn note_outcome(pass: &mut Pass, wanted: &Wanted, outcome: Outcome) -> i64 {
    let plugin = Arc::clone(&pass.facts.plugin);
    let revision = i64::from(outcome.revision);
    let (inventory, versions) = inventory::after(&outcome);
    pass.tries.applied = Some(Applied {
        at: Instant::now(),
        versions,
    });
    pass.draft.rendered(inventory.len());
    let status = &mut pass.draft.status;
    status.inventory = inventory;
    status.revision = Some(revision);
    status.namespace = Some(plugin.release_namespace().to_owned());
    status.release_name = Some(plugin.release_name().to_owned());
    status.kind = Some(plugin.spec.kind);
    status.cluster.clone_from(&plugin.spec.cluster);
    status.version = some_text(outcome.chart.version);
    status.app_version = some_text(outcome.chart.app_version);
    status.chart_digest = wanted.material.digest().map(str::to_owned);
    status.notes = outcome.notes.map(shortened);
    revision
}

fn some_text(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn shortened(notes: String) -> String {
    match notes.char_indices().nth(LONGEST_NOTES) {
        None => notes,
        Some((end, _)) => format!("{} …", &notes[..end]),
    }
}

/// Hears how the work goes on.
pub(super) struct Listener {
    key: Key,
    news: tokio::sync::mpsc::Sender<News>,
    /// What is waited for.
    pub(super) text: Mutex<Option<String>>,
    rendered: Mutex<Option<usize>>,
}

impl Listener {
    pub(super) fn new(pass: &Pass) -> Self {
        Self {
            key: pass.facts.key.clone(),
            news: pass.ctx.news.clone(),
            text: Mutex::default(),
            rendered: Mutex::default(),
        }
    }

    pub(super) fn hear(&self, progress: Progress) {
        let text = match progress {
            Progress::Waiting { object, message } => {
                self.rest();
                format!("{object}: {message}")
            }
            Progress::HookStarted { event, object } => {
                self.rest();
                format!("{event} hook {object} runs")
            }
            Progress::Applied { done, total, .. } => {
                format!("{done} of {total} objects are applied")
            }
            Progress::RollingBack { .. } => "goes back to what was there before".to_owned(),
            _ => return,
        };
        *lock(&self.text) = Some(text);
    }

    /// Others may have the place while this one waits.
    fn rest(&self) {
        // If there is so much news that this does not fit, somebody else just waits a little longer.
        let _ = self.news.try_send(News::Waits(self.key.clone()));
    }
}

/// Does work; tells that it goes on if it takes long, and stops when the plugin changes.
pub(super) async fn watched<T>(
    pass: &mut Pass,
    mut work: impl Future<Output = Result<T, Trouble>> + Unpin,
    listener: &Listener,
) -> Result<T, Trouble> {
    let began = pass.tries.began.unwrap_or_else(Instant::now);
    let notice = tokio::time::sleep_until((began + pass.ctx.options.tell_after).into());
    let mut superseded = Box::pin(pass.superseded());
    tokio::select! {
        biased;
        result = &mut work => return result,
        () = &mut superseded => return Err(Trouble::Superseded),
        () = notice => {}
    }
    if let Some(objects) = *lock(&listener.rendered) {
        pass.draft.rendered(objects);
    }
    if let Some(text) = lock(&listener.text).clone() {
        pass.draft.progress(&text);
    }
    if let Err(error) = pass.write_status().await {
        tracing::debug!(%error, "progress was not told");
    }
    tokio::select! {
        biased;
        result = &mut work => result,
        () = &mut superseded => Err(Trouble::Superseded),
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a failed render means for the plugin.
pub(super) fn not_rendered(error: &outrigger_release::Error) -> Trouble {
    trouble::release(RENDERED, "RenderFailed", error)
}
