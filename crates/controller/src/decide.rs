//! Decides what to do about a plugin. Pure: from observed state to a decision, with the cause for its conditions.
//!
//! [`decision`] needs only what the index knows. If it returns [`Decision::ResolveInputs`], the chart and the values
//! are fetched, and [`action`] decides by their digest. [`assess_health`] derives the phase of an installed plugin.

use std::time::Instant;

use outrigger_api::annotation::{CASCADE, FORCE, SUSPEND};
use outrigger_api::plugin::{
    self, ClusterReference, Drift, Phase, Plugin, PluginKind, PluginStatus,
};
use outrigger_api::reason::Reason;

use crate::backoff::Backoff;
use crate::conditions::{self, APPLIED, Cause, ConditionUpdate, HEALTHY};
use crate::graph;
use crate::health_rules;
use crate::key::Key;
use crate::lifecycle::{has_finalizer, is_deleted, is_removing};
use crate::named_cluster::Unavailable;
use crate::observed::{Observed, ObservedDependency, ObservedObjects};
use crate::version_range::{self, InvalidRange};

/// The first decision, made without requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Deleted, and our finalizer is removed.
    Ignore,
    /// Disabled, and nothing is installed.
    Disabled,
    /// Uninstall the release. With `force`, the plugin is released even if objects cannot be deleted.
    Uninstall { force: bool },
    /// Removal was requested, but the release belongs to the plugin `owner` and stays installed.
    Disown { owner: Key },
    /// A suspended plugin was deleted. Its release stays installed.
    LeaveRelease,
    /// Removal was requested but is blocked. The `cascade` plugins are to be removed first.
    BlockRemoval { cause: Cause, cascade: Vec<Key> },
    /// The spec cannot be satisfied as written.
    Reject(Cause),
    /// A dependency is not ready.
    Wait(Cause),
    /// The cluster that the plugin targets by name cannot be used yet, or no longer.
    AwaitCluster(Cause),
    /// Only its health is reported.
    Suspended,
    /// Fetch the chart and the values. If `blocked`, the plugin is installed but must not be changed now.
    ResolveInputs { blocked: Option<Cause> },
}

/// What to do once the input digest is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    None,
    Install,
    Upgrade,
    CorrectDrift,
    Wait(Cause),
    /// Failed before with the same inputs: retry at a time, or not until the inputs change.
    BackOff {
        until: Option<Instant>,
    },
}

pub(crate) fn decision(observed: &Observed) -> Decision {
    if observed.plugin.is_annotated(SUSPEND) {
        return suspended(&observed.plugin);
    }
    if is_removing(&observed.plugin) {
        return removal(observed);
    }
    if let Some(cause) = rejection(observed) {
        return Decision::Reject(cause);
    }
    if let Some(unavailable) = &observed.unavailable {
        return Decision::AwaitCluster(unavailable.cause());
    }
    let is_installed = is_installed(observed);
    match blocked_by_dependencies(observed) {
        Err(cause) => Decision::Reject(cause),
        Ok(Some(cause)) if !is_installed => Decision::Wait(cause),
        Ok(blocked) => Decision::ResolveInputs { blocked },
    }
}

/// As in Flux, the release of a suspended plugin is left alone, even if the plugin is disabled or deleted.
fn suspended(plugin: &Plugin) -> Decision {
    match (is_deleted(plugin), has_finalizer(plugin)) {
        (true, true) => Decision::LeaveRelease,
        (true, false) => Decision::Ignore,
        (false, false) if !plugin.spec.enabled => Decision::Disabled,
        (false, _) => Decision::Suspended,
    }
}

fn is_installed(observed: &Observed) -> bool {
    observed.status.revision.is_some()
}

fn removal(observed: &Observed) -> Decision {
    let plugin = &observed.plugin;
    if !has_finalizer(plugin) {
        return if is_deleted(plugin) {
            Decision::Ignore
        } else {
            Decision::Disabled
        };
    }
    let unavailable = observed.unavailable.as_ref();
    if unavailable.is_some_and(Unavailable::is_gone) {
        // Nothing can be uninstalled, so that nothing is waited for.
        return Decision::Uninstall { force: false };
    }
    if plugin.spec.required {
        let message = "plugin is required; set spec.required to false to remove it";
        return Decision::BlockRemoval {
            cause: Cause::new(Reason::Required, message),
            cascade: Vec::new(),
        };
    }
    if plugin.is_annotated(FORCE) && foreign_owner(observed).is_none() {
        return Decision::Uninstall { force: true };
    }
    if let Some(blocked) = blocked_by_dependents(observed) {
        return blocked;
    }
    match (foreign_owner(observed), refusal(observed)) {
        (Some(owner), _) => Decision::Disown {
            owner: owner.clone(),
        },
        (None, Some(Cause { reason, message })) => {
            let message = format!(
                "{message}, so that the release can be uninstalled, or annotate the plugin with {FORCE}=true"
            );
            Decision::BlockRemoval {
                cause: Cause::new(reason, message),
                cascade: Vec::new(),
            }
        }
        (None, None) => Decision::Uninstall { force: false },
    }
}

/// Why the plugin may not use the cluster that it targets by name.
fn refusal(observed: &Observed) -> Option<Cause> {
    let unavailable = observed.unavailable.as_ref();
    let refusal = unavailable.filter(|unavailable| unavailable.is_refusal());
    refusal.map(Unavailable::cause)
}

/// The plugin that owns the release, if it is another one.
pub(crate) fn foreign_owner(observed: &Observed) -> Option<&Key> {
    let owner = observed.release_owner.as_ref();
    owner.filter(|owner| **owner != observed.key)
}

/// Dependents must be removed first. Members of the same dependency cycle do not wait for each other.
fn blocked_by_dependents(observed: &Observed) -> Option<Decision> {
    let (removing, remaining): (Vec<_>, Vec<_>) = observed
        .dependents
        .iter()
        .partition(|dependent| dependent.is_removing);
    let keys = |dependents: Vec<&crate::observed::Dependent>| -> Vec<Key> {
        let keys = dependents.into_iter();
        keys.map(|dependent| dependent.key.clone()).collect()
    };
    let block = |reason: Reason, message: String, cascade: Vec<Key>| {
        Some(Decision::BlockRemoval {
            cause: Cause::new(reason, message),
            cascade,
        })
    };
    let remaining = keys(remaining);
    if !remaining.is_empty() {
        let names = names(&remaining, observed);
        return if observed.plugin.is_annotated(CASCADE) {
            let message = format!("removing dependents first: {names}");
            block(Reason::Cascading, message, remaining)
        } else {
            let message = format!(
                "other plugins depend on it: {names}; disable them first, or annotate it with {CASCADE}=true or {FORCE}=true"
            );
            block(Reason::DependentsRemain, message, Vec::new())
        };
    }
    let cycle = observed.cycle.as_deref().unwrap_or_default();
    let mut removing = keys(removing);
    removing.retain(|key| !cycle.contains(key));
    if removing.is_empty() {
        return None;
    }
    let names = names(&removing, observed);
    let message = format!("waiting for dependents to be removed: {names}");
    block(Reason::RemovingDependents, message, Vec::new())
}

fn names(keys: &[Key], observed: &Observed) -> String {
    let names: Vec<String> = keys
        .iter()
        .map(|key| key.relative_to(&observed.key.namespace))
        .collect();
    names.join(", ")
}

/// Why the spec is rejected, if it is.
fn rejection(observed: &Observed) -> Option<Cause> {
    let plugin = &observed.plugin;
    let problems = plugin::validate(plugin);
    if !problems.is_empty() {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Some(Cause::new(Reason::InvalidSpec, texts.join("; ")));
    }
    if plugin.spec.kind == PluginKind::Kustomize {
        return Some(Cause::new(
            Reason::KindNotSupported,
            "plugins of kind kustomize are not supported yet; use kind manifests with the output of `kustomize build`",
        ));
    }
    if let Err(error) = health_rules::compile(plugin) {
        return Some(Cause::new(Reason::BadHealthRule, error.to_string()));
    }
    if let Some(cause) = immutable_change(observed) {
        return Some(cause);
    }
    if let Some(owner) = foreign_owner(observed) {
        let message = format!(
            "release {}/{} belongs to plugin {}; set another releaseName or installNamespace",
            plugin.release_namespace(),
            plugin.release_name(),
            owner.relative_to(&observed.key.namespace)
        );
        return Some(Cause::new(Reason::ReleaseConflict, message));
    }
    refusal(observed).or_else(|| cycle(observed))
}

fn cycle(observed: &Observed) -> Option<Cause> {
    observed.cycle.as_ref().map(|cycle| {
        let cycle = graph::cycle_text(cycle);
        Cause::new(
            Reason::DependencyCycle,
            format!("dependency cycle: {cycle}"),
        )
    })
}

/// Why the dependencies of a rejected plugin are not ready, if they are not.
pub(crate) fn unmet_dependencies(observed: &Observed) -> Option<Cause> {
    cycle(observed).or_else(|| blocked_by_dependencies(observed).unwrap_or_else(Some))
}

/// The kind, the release and the cluster of an installed plugin cannot change: its objects would be orphaned.
fn immutable_change(observed: &Observed) -> Option<Cause> {
    let (plugin, status) = (&observed.plugin, &observed.status);
    let kind_text = |kind: PluginKind| format!("{kind:?}").to_lowercase();
    let cluster_text = |cluster: Option<&ClusterReference>| {
        cluster.map_or_else(|| "local".to_owned(), ToString::to_string)
    };
    let installed_cluster = status.kind.map(|_| cluster_text(status.cluster.as_ref()));
    let fields = [
        (
            "kind",
            status.kind.map(kind_text),
            kind_text(plugin.spec.kind),
        ),
        (
            "installNamespace",
            status.namespace.clone(),
            plugin.release_namespace().to_owned(),
        ),
        (
            "releaseName",
            status.release_name.clone(),
            plugin.release_name().to_owned(),
        ),
        (
            "cluster",
            installed_cluster,
            cluster_text(plugin.spec.cluster.as_ref()),
        ),
    ];
    fields.into_iter().find_map(|(field, installed, desired)| {
        let installed = installed.filter(|installed| *installed != desired)?;
        Some(Cause::new(
            Reason::ImmutableField,
            format!("{field} cannot be changed from {installed} to {desired} while the plugin is installed; revert it, or disable the plugin, wait until it is Disabled, then change it"),
        ))
    })
}

/// The unmet dependencies, if there are any; an error if a version range is invalid.
fn blocked_by_dependencies(observed: &Observed) -> Result<Option<Cause>, Cause> {
    let mut unmet = Vec::new();
    for dependency in &observed.dependencies {
        let cause = unmet_dependency(dependency, &observed.key.namespace)
            .map_err(|error| Cause::new(Reason::InvalidSpec, error.to_string()))?;
        unmet.extend(cause);
    }
    let Some(first) = unmet.first() else {
        return Ok(None);
    };
    let messages: Vec<&str> = unmet.iter().map(|cause| cause.message.as_str()).collect();
    Ok(Some(Cause::new(first.reason, messages.join("; "))))
}

fn unmet_dependency(
    dependency: &ObservedDependency,
    namespace: &str,
) -> Result<Option<Cause>, InvalidRange> {
    let name = dependency.key.relative_to(namespace);
    let Some(plugin) = &dependency.plugin else {
        let message = format!("plugin {name} does not exist");
        return Ok(Some(Cause::new(Reason::DependencyMissing, message)));
    };
    if let Some(state) = not_ready(plugin) {
        let message = format!("plugin {name} is {state}");
        return Ok(Some(Cause::new(Reason::DependencyNotReady, message)));
    }
    let range = dependency.dependency.version.as_deref();
    let Some(range) = range.filter(|range| !range.is_empty()) else {
        return Ok(None);
    };
    let status = plugin.status.as_ref();
    let version = status.and_then(|status| status.version.as_deref());
    let version = version.unwrap_or("none");
    if version_range::satisfies(version, range)? {
        return Ok(None);
    }
    let message = format!("plugin {name} has version {version}, but {range} is required");
    Ok(Some(Cause::new(Reason::DependencyVersionMismatch, message)))
}

/// The state of a dependency that is not ready. Phases in progress are not distinguished: each would cost a write.
fn not_ready(plugin: &Plugin) -> Option<String> {
    if is_deleted(plugin) {
        return Some("being removed".to_owned());
    }
    if !plugin.spec.enabled {
        return Some("disabled".to_owned());
    }
    if plugin.is_ready() && plugin.phase() == Phase::Ready {
        return None;
    }
    Some(match plugin.phase() {
        phase @ (Phase::Failed | Phase::Degraded) if plugin.is_observed() => format!("{phase:?}"),
        _ => "not ready yet".to_owned(),
    })
}

/// What to do for inputs with this digest.
pub(crate) fn action(
    observed: &Observed,
    digest: &str,
    blocked: Option<&Cause>,
    backoff: &Backoff,
) -> Action {
    let is_installed = is_installed(observed);
    if is_installed && observed.status.input_digest.as_deref() == Some(digest) {
        return drift_action(observed, backoff);
    }
    if let Some(blocked) = blocked {
        return Action::Wait(blocked.clone());
    }
    if let Some(back_off) = back_off(observed, digest) {
        return back_off;
    }
    if is_installed {
        Action::Upgrade
    } else {
        Action::Install
    }
}

/// Corrects drift at once the first time, then with backoff: someone else may revert each correction.
pub(crate) fn drift_action(observed: &Observed, backoff: &Backoff) -> Action {
    let is_correcting = observed.plugin.spec.drift == Drift::Correct;
    if !is_correcting {
        return Action::None;
    }
    if observed.objects.drifted.is_empty() {
        return if observed.objects.is_suspect {
            Action::CorrectDrift
        } else {
            Action::None
        };
    }
    let retry = &observed.retry;
    let last = retry
        .drift_corrected_at
        .filter(|_| retry.drift_corrections > 0);
    match last.map(|last| last + backoff.delay(retry.drift_corrections)) {
        Some(until) if until > observed.now => Action::BackOff { until: Some(until) },
        _ => Action::CorrectDrift,
    }
}

fn back_off(observed: &Observed, inputs: &str) -> Option<Action> {
    let attempts = observed.status.attempts;
    if attempts == 0 || !has_failed_with(observed, inputs) {
        return None;
    }
    if are_retries_exhausted(&observed.plugin, attempts, is_rolled_back(&observed.status)) {
        return Some(Action::BackOff { until: None });
    }
    let until = observed.retry.retry_at.filter(|at| *at > observed.now)?;
    Some(Action::BackOff { until: Some(until) })
}

/// Whether to back off from resolving the inputs, because that failed for the same generation and references.
pub(crate) fn back_off_resolving(observed: &Observed) -> Option<Action> {
    let inputs = unresolved_inputs(observed);
    let is_same =
        observed.retry.failed_inputs.as_deref() == Some(&inputs) && observed.are_references_current;
    if is_same {
        back_off(observed, &inputs)
    } else {
        None
    }
}

/// Stands for the input digest of an attempt that failed before the digest was known.
pub(crate) fn unresolved_inputs(observed: &Observed) -> String {
    let generation = observed.plugin.metadata.generation.unwrap_or_default();
    format!("generation {generation}")
}

/// The reasons of an attempt that was followed by a rollback.
pub(crate) const ROLLED_BACK: [Reason; 2] = [Reason::RolledBack, Reason::RollbackFailed];

/// Whether the first attempt and all retries were used. What was rolled back is retried only if the spec asks for it, as
/// in Flux: each retry would disturb the revision that works.
pub(crate) fn are_retries_exhausted(plugin: &Plugin, attempts: u32, is_rolled_back: bool) -> bool {
    let retries = plugin.spec.retries.or_else(|| is_rolled_back.then_some(0));
    retries.is_some_and(|retries| attempts > retries)
}

/// Whether the last attempt was rolled back, or could not be.
pub(crate) fn is_rolled_back(status: &PluginStatus) -> bool {
    let applied = conditions::find(&status.conditions, APPLIED);
    applied.is_some_and(|applied| applied.has_reason(&ROLLED_BACK))
}

/// Whether the last failed attempt had these inputs. If it failed before they were known, only its generation is known after
/// a restart.
pub(crate) fn has_failed_with(observed: &Observed, inputs: &str) -> bool {
    let failed = observed.retry.failed_inputs.as_ref();
    match failed.or(observed.status.failed_digest.as_ref()) {
        Some(failed) => failed == inputs,
        None => observed.status.observed_generation == observed.plugin.metadata.generation,
    }
}

/// How long the objects of a plugin have been in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProgressTime {
    /// Longer than an installation or upgrade may take.
    pub(crate) is_overdue: bool,
    /// Not longer than scaling usually takes.
    pub(crate) is_short: bool,
}

/// The state of a plugin whose objects are applied, by their health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assessment {
    pub(crate) phase: Phase,
    /// Reason and message of the phase, and the condition Healthy; `None` if they do not change.
    pub(crate) explanation: Option<(Cause, ConditionUpdate)>,
}

impl Assessment {
    fn new(phase: Phase, ready: Cause, healthy: ConditionUpdate) -> Self {
        Self {
            phase,
            explanation: Some((ready, healthy)),
        }
    }
}

pub(crate) fn assess_health(
    before: Phase,
    objects: &ObservedObjects,
    time: ProgressTime,
) -> Assessment {
    let was_ready = matches!(before, Phase::Ready | Phase::Degraded);
    if let Some(message) = &objects.unreachable {
        let phase = match before {
            Phase::Ready | Phase::Degraded => Phase::Degraded,
            Phase::Failed => Phase::Failed,
            before => in_progress(before),
        };
        let healthy =
            ConditionUpdate::mark_unknown(HEALTHY, Reason::ClusterUnreachable, &**message);
        let ready = Cause::new(Reason::ClusterUnreachable, &**message);
        return Assessment::new(phase, ready, healthy);
    }
    if objects.is_incomplete {
        if was_ready {
            return Assessment {
                phase: before,
                explanation: None,
            };
        }
        let message = "waiting for the installed objects to be observed";
        let healthy = ConditionUpdate::mark_unknown(HEALTHY, Reason::Progressing, message);
        let ready = Cause::new(Reason::Progressing, message);
        return Assessment::new(in_progress(before), ready, healthy);
    }
    let Some(message) = unhealthy_message(objects) else {
        let message = match objects.total {
            1 => "1 object is healthy".to_owned(),
            total => format!("{total} objects are healthy"),
        };
        let healthy = ConditionUpdate::mark_true(HEALTHY, Reason::Healthy, message);
        return Assessment::new(Phase::Ready, Cause::new(Reason::Ready, ""), healthy);
    };
    let has_failed = objects.unhealthy.iter().any(|object| object.has_failed);
    let is_crashing = objects.unhealthy.iter().any(|object| object.is_crashing);
    let (phase, reason) = match (was_ready, has_failed, time.is_overdue) {
        (true, true, _) => (Phase::Degraded, Reason::Unhealthy),
        (true, false, _) if is_crashing => (Phase::Degraded, Reason::Unhealthy),
        (true, false, _) if before == Phase::Ready && time.is_short => {
            // Scaling is not a failure.
            (Phase::Ready, Reason::Progressing)
        }
        (true, false, _) => (Phase::Degraded, Reason::Progressing),
        (false, true, _) => (Phase::Failed, Reason::Unhealthy),
        (false, false, true) => (Phase::Failed, Reason::Timeout),
        // After a timeout it remains Failed until it is healthy.
        (false, false, false) if before == Phase::Failed => (Phase::Failed, Reason::Timeout),
        (false, false, false) => (in_progress(before), Reason::Progressing),
    };
    let message = match reason {
        Reason::Timeout => format!("timed out: {message}"),
        _ => message,
    };
    let healthy = ConditionUpdate::mark_false(HEALTHY, reason, message.clone());
    Assessment::new(phase, Cause::new(reason, message), healthy)
}

fn in_progress(before: Phase) -> Phase {
    match before {
        Phase::Upgrading => Phase::Upgrading,
        _ => Phase::Installing,
    }
}

/// The first unhealthy objects, and the number of the others.
fn unhealthy_message(objects: &ObservedObjects) -> Option<String> {
    const MAX_NAMED: usize = 3;
    let unhealthy = &objects.unhealthy;
    if unhealthy.is_empty() {
        return None;
    }
    let texts: Vec<String> = unhealthy
        .iter()
        .take(MAX_NAMED)
        .map(|object| format!("{}: {}", object.object, object.message))
        .collect();
    let mut text = texts.join("; ");
    if unhealthy.len() > MAX_NAMED {
        text.push_str(&format!("; and {} more", unhealthy.len() - MAX_NAMED));
    }
    Some(text)
}

#[cfg(test)]
mod tests;
