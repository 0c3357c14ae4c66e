//! Executes actions on the release of a plugin. Each can be interrupted at any point and repeated.
//!
//! An action returns an outcome or an error, which the reconcile records. [`Progress`] shares the progress of a running
//! action.

mod busy;
mod drift;
mod inventory;
mod progress;
mod render;
mod uninstall;

use std::collections::HashMap;
use std::time::Duration;

use outrigger_api::annotation::ROLLBACK;
use outrigger_api::duration;
use outrigger_api::plugin::{self, InventoryEntry, Plugin, PluginKind, PluginStatus};
use outrigger_api::reason::Reason;
use outrigger_chart::manifest::hook::Event as HookEvent;
use outrigger_release::{
    Action, ActionError, Cluster, Conflicts, CrdPolicy, Desired, ObjectId, Plan, Record, ReleaseId,
    Status, Verdict,
};

use crate::conditions::{APPLIED, Cause};
use crate::context::Context;
use crate::error::{ReconcileError, missing_kinds};
use crate::health_rules;
use crate::key::Key;
use crate::lineage::{Lineage, Reservations};
use crate::observe::ResolvedInputs;

pub(crate) use inventory::{merge as merge_inventory, summary as inventory_summary};
pub(crate) use progress::{Progress, RolledBack};
pub(crate) use uninstall::{cascade, uninstall};

/// How long a render may occupy a reconcile slot. Nearly all renders take less.
const RENDER_GRACE: Duration = Duration::from_millis(100);

/// Longer notes are truncated, in characters.
const MAX_NOTES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Install, or upgrade to what the inputs render to.
    Deploy,
    /// Restore the deployed revision.
    CorrectDrift,
}

/// The release after a successful apply.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) revision: i64,
    /// The resource version of the release record.
    pub(crate) record_version: Option<String>,
    /// The number of objects that were written or deleted.
    pub(crate) changed: usize,
    /// The objects that had drifted, with the fields.
    pub(crate) corrected: Vec<String>,
    /// Objects that were left out, because their kinds are not defined yet.
    pub(crate) deferred: Vec<ObjectId>,
    pub(crate) inventory: Vec<InventoryEntry>,
    pub(crate) resource_versions: HashMap<InventoryEntry, u64>,
    pub(crate) chart: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) app_version: Option<String>,
    pub(crate) notes: Option<String>,
    /// What the user should know although the apply succeeded.
    pub(crate) warnings: Vec<String>,
}

/// Renders the inputs and applies the difference to the cluster.
pub(crate) async fn apply(
    controller: &crate::Options,
    plugin: &Plugin,
    inputs: &ResolvedInputs,
    (lineage, reservations): (&Lineage, &Reservations),
    mode: Mode,
    progress: &Progress,
) -> Result<Outcome, ReconcileError> {
    let cluster = &inputs.target.cluster;
    let mut options = release_options(controller, plugin)?;
    let rendered = render_without_slot(controller, plugin, inputs, progress).await?;
    if let Some(cause) = busy::cause(&rendered.history, (controller.now)()) {
        return Err(ReconcileError::Busy(cause));
    }
    if let Some(cause) = lineage.reject(&Key::of(plugin), &rendered.desired, reservations) {
        return Err(ReconcileError::Rejected(cause));
    }
    match mode {
        Mode::Deploy => {
            progress.set_planned(inventory::planned(rendered.desired.objects()));
            // The watches of the controller observe health, unless something must follow it.
            options.wait = plugin.spec.rollback || has_post_hooks(&rendered.desired);
            options.description = rollback_description(plugin);
        }
        Mode::CorrectDrift => correct_only_drift(&mut options),
    }
    let is_record_missing = mode == Mode::CorrectDrift && is_record_missing(plugin, &rendered);
    if is_record_missing {
        // The objects are installed; only their record is gone.
        options.run_hooks = false;
        options.description = Some("Release record restored".to_owned());
    }
    let deployed = restorable_revision(plugin, &rendered);
    let warnings = rendered.desired.warnings().to_vec();
    let plan = make_plan(cluster, rendered, &options).await?;
    let is_reproduced = matches!(plan.action, Action::Repair | Action::Nothing);
    // If the chart renders differently each time, the plan has more than the drift.
    let corrected = if mode == Mode::CorrectDrift && is_reproduced {
        drift::describe(&plan)
    } else {
        Vec::new()
    };
    let report = |event| progress.update(event);
    let outcome = match (mode, deployed) {
        // The chart renders differently each time, for example because it generates passwords: the recorded objects
        // are restored instead.
        (Mode::CorrectDrift, Some(revision)) if !is_reproduced => {
            options.run_hooks = false;
            let id = release_id(plugin);
            outrigger_release::rollback(cluster, &id, Some(revision), &options, &report).await
        }
        _ => outrigger_release::execute(cluster, plan, &options, &report).await,
    };
    let outcome = outcome.map_err(|error| {
        progress.set_rolled_back(&error);
        action_failed(error, plugin)
    })?;
    let mut outcome = Outcome::from(outcome);
    outcome.changed += usize::from(is_record_missing);
    Ok(Outcome {
        corrected,
        warnings,
        ..outcome
    })
}

/// Restores the objects of the deployed revision from its record, while the inputs of the plugin cannot be deployed. Does
/// nothing if a later revision was attempted: its objects may be applied, and the next attempt continues there.
pub(crate) async fn restore(
    ctx: &Context,
    plugin: &Plugin,
    status: &PluginStatus,
    progress: &Progress,
) -> Result<Option<Outcome>, ReconcileError> {
    let target = ctx.targets.resolve(plugin).await?;
    let mut options = options_without_rules(&ctx.options, plugin)?;
    correct_only_drift(&mut options);
    options.run_hooks = false;
    let id = uninstall::installed_release(plugin, status);
    let report = |event| progress.update(event);
    let revision = status.revision.unwrap_or_default();
    let restored = outrigger_release::repair(&target.cluster, &id, revision, &options, &report);
    let restored = restored
        .await
        .map_err(|error| action_failed(error, plugin))?;
    Ok(restored.map(Outcome::from))
}

fn correct_only_drift(options: &mut outrigger_release::Options) {
    options.rollback_on_failure = false;
    options.compare_values = true;
    if options.conflicts == Conflicts::Fail {
        // Takes back fields that others own now, but not what a user changed in a plugin of the release.
        options.conflicts = Conflicts::Take;
        options.is_shared = is_plugin;
    }
}

fn is_plugin(id: &ObjectId) -> bool {
    id.kind == "Plugin" && id.api_version.starts_with("outrigger.dev/")
}

/// Whether the record of the installed revision was deleted or is damaged.
fn is_record_missing(plugin: &Plugin, rendered: &render::Rendered) -> bool {
    let revision = plugin.status.as_ref().and_then(|status| status.revision);
    revision.is_some_and(|revision| !rendered.history.has_revision(revision))
}

/// The deployed revision, if it is ours. One that somebody else deployed, maybe under the same number, is not restored, but
/// upgraded to what the inputs render to.
fn restorable_revision(plugin: &Plugin, rendered: &render::Rendered) -> Option<u32> {
    let history = &rendered.history;
    let ours = plugin.status.as_ref().and_then(|status| status.revision);
    // The applied revision failed if its objects did not become healthy.
    let failed = history
        .last()
        .filter(|last| last.info.status == Status::Failed);
    let applied = [failed, history.deployed()].into_iter().flatten();
    let mut ours = applied.filter(|record| Some(i64::from(record.revision)) == ours);
    let is_source = |record: &&Record| rendered.desired.is_source_of(record);
    ours.find(is_source).map(|record| record.revision)
}

/// Records whether the objects of the installed revision became healthy. Returns the resource version of its record, if that
/// was changed.
pub(crate) async fn record_verdict(
    ctx: &Context,
    plugin: &Plugin,
    status: &PluginStatus,
    verdict: Verdict,
) -> Result<Option<String>, ReconcileError> {
    let target = ctx.targets.resolve(plugin).await?;
    let id = uninstall::installed_release(plugin, status);
    let verdict = match verdict {
        Verdict::Healthy(None) => Verdict::Healthy(rollback_description(plugin)),
        verdict => verdict,
    };
    let revision = u32::try_from(status.revision.unwrap_or_default()).unwrap_or_default();
    let now = (ctx.options.now)();
    let recorded =
        outrigger_release::record_verdict(&target.cluster, &id, revision, verdict, now).await;
    recorded.map_err(|error| ReconcileError::from_release(APPLIED, Reason::ApplyFailed, &error))
}

fn rollback_description(plugin: &Plugin) -> Option<String> {
    rollback_revision(plugin).map(|revision| format!("Rollback to {revision}"))
}

/// Renders the inputs. A render that takes long, or waits for others that do, occupies no reconcile slot.
async fn render_without_slot(
    controller: &crate::Options,
    plugin: &Plugin,
    inputs: &ResolvedInputs,
    progress: &Progress,
) -> Result<render::Rendered, ReconcileError> {
    let mut rendered = Box::pin(render::render(controller, plugin, inputs));
    if let Ok(rendered) = tokio::time::timeout(RENDER_GRACE, &mut rendered).await {
        return rendered;
    }
    progress.wait_for_render();
    rendered.await
}

/// Plans what [`apply`] would do to deploy the inputs.
pub(crate) async fn plan(
    controller: &crate::Options,
    plugin: &Plugin,
    inputs: &ResolvedInputs,
) -> Result<Plan, ReconcileError> {
    let options = release_options(controller, plugin)?;
    let rendered = render::render(controller, plugin, inputs).await?;
    make_plan(&inputs.target.cluster, rendered, &options).await
}

/// Why the API server would refuse what [`plan`] planned, if it would. Drift is corrected whoever owns the fields.
pub(crate) async fn dry_run(
    controller: &crate::Options,
    plugin: &Plugin,
    inputs: &ResolvedInputs,
    plan: &Plan,
) -> Result<(), ReconcileError> {
    if matches!(plan.action, Action::Repair | Action::Nothing) {
        return Ok(());
    }
    let options = release_options(controller, plugin)?;
    let checked = outrigger_release::dry_run(&inputs.target.cluster, plan, &options);
    checked.await.map_err(|error| action_failed(error, plugin))
}

async fn make_plan(
    cluster: &Cluster,
    rendered: render::Rendered,
    options: &outrigger_release::Options,
) -> Result<Plan, ReconcileError> {
    let observed = outrigger_release::observe(cluster, rendered.history, &rendered.desired).await;
    let observed = observed
        .map_err(|error| ReconcileError::from_release(APPLIED, Reason::ApplyFailed, &error))?;
    let plan = outrigger_release::plan(rendered.desired, observed, options);
    Ok(plan.map_err(ActionError::from)?)
}

/// The revision that the current spec is a rollback to, if it is one.
fn rollback_revision(plugin: &Plugin) -> Option<u32> {
    let annotation = plugin.metadata.annotations.as_ref()?.get(ROLLBACK)?;
    let (revision, generation) = annotation.split_once('@')?;
    let is_current = generation.parse().ok() == plugin.metadata.generation;
    revision.parse().ok().filter(|_| is_current)
}

/// Whether hooks run after the release is healthy.
fn has_post_hooks(desired: &Desired) -> bool {
    desired
        .hooks()
        .iter()
        .any(|hook| hook.runs_at(HookEvent::PostInstall) || hook.runs_at(HookEvent::PostUpgrade))
}

fn release_id(plugin: &Plugin) -> ReleaseId {
    ReleaseId::new(plugin.release_namespace(), plugin.release_name())
}

fn crd_policy(plugin: &Plugin) -> CrdPolicy {
    match plugin.spec.crds {
        plugin::CrdPolicy::Create => CrdPolicy::Create,
        plugin::CrdPolicy::Replace => CrdPolicy::Replace,
        plugin::CrdPolicy::Skip => CrdPolicy::Skip,
    }
}

/// What the objects that were left out wait for.
pub(crate) fn deferred_cause(deferred: &[ObjectId]) -> Option<Cause> {
    (!deferred.is_empty()).then(|| missing_kinds(deferred))
}

/// A conflict names both field managers, and the way out.
fn action_failed(error: ActionError, plugin: &Plugin) -> ReconcileError {
    let is_conflict = matches!(
        error.cluster_error(),
        Some(outrigger_release::Error::Conflict { .. })
    );
    if !is_conflict {
        return error.into();
    }
    let message = format!(
        "{}; plugin {name} applies them as field manager \"helm\"; `outrigger plugin set {name} -n {namespace} --conflicts \
         take` takes them over, `--conflicts keep` leaves them to the other manager (spec.conflicts)",
        error.full_message(),
        name = plugin.name(),
        namespace = plugin.namespace(),
    );
    ReconcileError::Failed {
        condition: APPLIED,
        cause: Cause::new(Reason::FieldConflict, message),
    }
}

fn conflicts(plugin: &Plugin) -> Conflicts {
    match plugin.spec.conflicts {
        plugin::Conflicts::Fail => Conflicts::Fail,
        plugin::Conflicts::Keep => Conflicts::Keep,
        plugin::Conflicts::Take => Conflicts::Take,
    }
}

/// The options of an action for which health rules do not matter. Invalid ones must not block it.
fn options_without_rules(
    controller: &crate::Options,
    plugin: &Plugin,
) -> Result<outrigger_release::Options, ReconcileError> {
    let mut without_rules = plugin.clone();
    without_rules.spec.health.clear();
    release_options(controller, &without_rules)
}

fn release_options(
    controller: &crate::Options,
    plugin: &Plugin,
) -> Result<outrigger_release::Options, ReconcileError> {
    let health_rules = health_rules::compile(plugin).map_err(|error| {
        ReconcileError::Rejected(Cause::new(Reason::BadHealthRule, error.to_string()))
    })?;
    let defaults = outrigger_release::Options::default();
    let timeout = plugin.spec.timeout.as_deref().and_then(duration::parse);
    Ok(outrigger_release::Options {
        timeout: timeout.unwrap_or(defaults.timeout),
        wait: false,
        rollback_on_failure: plugin.spec.rollback,
        max_history: plugin.history_limit() as usize,
        crds: crd_policy(plugin),
        conflicts: conflicts(plugin),
        create_namespace: true,
        create_object_namespaces: plugin.spec.kind != PluginKind::Helm,
        health_rules,
        now: controller.now,
        ..defaults
    })
}

impl From<outrigger_release::Outcome> for Outcome {
    fn from(outcome: outrigger_release::Outcome) -> Self {
        let (inventory, resource_versions) = inventory::applied(&outcome);
        let non_empty = |text: String| (!text.is_empty()).then_some(text);
        Self {
            revision: i64::from(outcome.revision),
            record_version: outcome.record_version,
            changed: outcome.changed,
            corrected: Vec::new(),
            deferred: outcome.deferred,
            inventory,
            resource_versions,
            chart: non_empty(outcome.chart.name),
            version: non_empty(outcome.chart.version),
            app_version: non_empty(outcome.chart.app_version),
            notes: outcome.notes.map(truncated),
            warnings: Vec::new(),
        }
    }
}

fn truncated(notes: String) -> String {
    match notes.char_indices().nth(MAX_NOTES) {
        None => notes,
        Some((end, _)) => format!("{} …", &notes[..end]),
    }
}
