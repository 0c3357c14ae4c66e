//! What to do next about a plugin? Pure: from facts to a decision, with the conditions that say why.
//!
//! [`next`] decides from memory alone. If it says [`Next::Prepare`], the chart and the values are looked at, and [`work`]
//! says whether there is something to do. [`settle`] follows the health of what is installed.

use std::time::Instant;

use kube::ResourceExt as _;
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::{self, Drift, FINALIZER, Phase, Plugin, PluginKind};

use crate::backoff::Backoff;
use crate::conditions::{HEALTHY, READY, Saying};
use crate::facts::{DependencyFact, Facts, ObjectFacts};
use crate::graph;
use crate::key::Key;
use crate::version_range;

/// Why something is not done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Obstacle {
    pub(crate) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// The first decision, from memory alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is gone, or waits for others to let it go.
    Nothing,
    /// Switched off, and nothing is left of it.
    Off,
    /// What it added is to go. With force, it goes though something cannot be removed.
    Remove { force: bool },
    /// It is asked to go but stays for now; the named dependants are to go first.
    Protect {
        obstacle: Obstacle,
        cascade: Vec<Key>,
    },
    /// It cannot be done as written; only a change helps.
    Refuse(Obstacle),
    /// A dependency is not there yet.
    Wait(Obstacle),
    /// The chart and the values are to be looked at. A change must wait if a dependency is not ready.
    Prepare { blocked: Option<Obstacle> },
}

/// What is to be done once it is known what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    Nothing,
    Install,
    Upgrade,
    /// Others changed what is installed; put it right.
    Correct,
    Wait(Obstacle),
    /// Failed before with the same inputs: not again, or not before a time.
    Hold {
        until: Option<Instant>,
    },
}

pub(crate) fn next(facts: &Facts) -> Next {
    let plugin = &facts.plugin;
    if is_deleted(plugin) || !plugin.spec.enabled {
        return removal(facts);
    }
    if let Some(refusal) = refusal(facts) {
        return Next::Refuse(refusal);
    }
    let blocked = match blocked(facts) {
        Ok(blocked) => blocked,
        Err(refusal) => return Next::Refuse(refusal),
    };
    match blocked {
        Some(blocked) if !is_installed(facts) => Next::Wait(blocked),
        blocked => Next::Prepare { blocked },
    }
}

pub(crate) fn is_deleted(plugin: &Plugin) -> bool {
    plugin.metadata.deletion_timestamp.is_some()
}

pub(crate) fn has_finalizer(plugin: &Plugin) -> bool {
    plugin.finalizers().iter().any(|name| name == FINALIZER)
}

/// Whether a plugin is on its way out, or switched off.
pub(crate) fn is_going(plugin: &Plugin) -> bool {
    is_deleted(plugin) || !plugin.spec.enabled
}

fn is_installed(facts: &Facts) -> bool {
    facts.status.revision.is_some()
}

fn removal(facts: &Facts) -> Next {
    let plugin = &facts.plugin;
    if !has_finalizer(plugin) {
        return if is_deleted(plugin) {
            Next::Nothing
        } else {
            Next::Off
        };
    }
    if plugin.is_marked(FORCE) {
        return Next::Remove { force: true };
    }
    if plugin.spec.required {
        let obstacle = Obstacle::new(
            "Required",
            format!(
                "stays because it is required; set spec.required to false, or annotate it with {FORCE}=true"
            ),
        );
        return protect(obstacle, Vec::new());
    }
    match dependants_in_the_way(facts) {
        Some(next) => next,
        None => Next::Remove { force: false },
    }
}

fn protect(obstacle: Obstacle, cascade: Vec<Key>) -> Next {
    Next::Protect { obstacle, cascade }
}

/// Those who depend on it go first. Those who go already are waited for, unless they wait for this one in turn.
fn dependants_in_the_way(facts: &Facts) -> Option<Next> {
    let in_cycle = |key: &Key| {
        let cycle = facts.cycle.as_ref();
        cycle.is_some_and(|cycle| cycle.contains(key))
    };
    let names = |keys: &[Key]| {
        let names: Vec<String> = keys
            .iter()
            .map(|key| key.seen_from(&facts.key.namespace))
            .collect();
        names.join(", ")
    };
    let (going, staying): (Vec<_>, Vec<_>) =
        facts.dependants.iter().partition(|other| other.is_going);
    let staying: Vec<Key> = staying.into_iter().map(|other| other.key.clone()).collect();
    if !staying.is_empty() {
        let names = names(&staying);
        return Some(if facts.plugin.is_marked(CASCADE) {
            let obstacle = Obstacle::new("Cascading", format!("goes after {names}"));
            protect(obstacle, staying)
        } else {
            let message = format!(
                "stays because others depend on it: {names}; switch them off first, or annotate it with {CASCADE}=true or {FORCE}=true"
            );
            protect(Obstacle::new("DependantsRemain", message), Vec::new())
        });
    }
    let going: Vec<Key> = going
        .into_iter()
        .map(|other| other.key.clone())
        .filter(|key| !in_cycle(key))
        .collect();
    (!going.is_empty()).then(|| {
        let message = format!("goes after {}", names(&going));
        protect(Obstacle::new("DependantsGoing", message), Vec::new())
    })
}

/// What cannot be done as it is written.
fn refusal(facts: &Facts) -> Option<Obstacle> {
    let plugin = &facts.plugin;
    let problems = plugin::check(plugin);
    if !problems.is_empty() {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Some(Obstacle::new("InvalidSpec", texts.join("; ")));
    }
    if plugin.spec.kind == PluginKind::Kustomize {
        return Some(Obstacle::new(
            "KindNotSupported",
            "plugins of kind kustomize are not supported yet; use kind manifests with the output of `kustomize build`",
        ));
    }
    if let Some(change) = forbidden_change(facts) {
        return Some(change);
    }
    facts.cycle.as_ref().map(|cycle| {
        let cycle = graph::cycle_text(cycle);
        Obstacle::new("DependencyCycle", format!("depends on itself: {cycle}"))
    })
}

/// A release cannot change its kind or its place: what is installed would be left behind.
fn forbidden_change(facts: &Facts) -> Option<Obstacle> {
    let (plugin, status) = (&facts.plugin, &facts.status);
    let kind_text = |kind: PluginKind| format!("{kind:?}").to_lowercase();
    let changes = [
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
    ];
    changes.into_iter().find_map(|(field, installed, wanted)| {
        let installed = installed.filter(|installed| *installed != wanted)?;
        Some(Obstacle::new(
            "ImmutableField",
            format!("{field} cannot be changed from {installed} to {wanted} while it is installed; set it back, or switch the plugin off, wait until it is Disabled, then change it"),
        ))
    })
}

/// What the dependencies lack. A range that cannot be read is for the user to mend.
fn blocked(facts: &Facts) -> Result<Option<Obstacle>, Obstacle> {
    let mut lacking = Vec::new();
    for fact in &facts.dependencies {
        let found = lack(fact, &facts.key.namespace)
            .map_err(|bad| Obstacle::new("InvalidSpec", bad.to_string()))?;
        lacking.extend(found);
    }
    let Some(first) = lacking.first() else {
        return Ok(None);
    };
    let texts: Vec<&str> = lacking.iter().map(|one| one.message.as_str()).collect();
    Ok(Some(Obstacle::new(first.reason, texts.join("; "))))
}

fn lack(fact: &DependencyFact, home: &str) -> Result<Option<Obstacle>, version_range::BadRange> {
    let name = fact.key.seen_from(home);
    let Some(plugin) = &fact.plugin else {
        return Ok(Some(Obstacle::new(
            "DependencyMissing",
            format!("there is no plugin {name}"),
        )));
    };
    let not_ready = |text: &str| {
        Ok(Some(Obstacle::new(
            "DependencyNotReady",
            format!("plugin {name} {text}"),
        )))
    };
    if is_deleted(plugin) {
        return not_ready("is being removed");
    }
    if !plugin.spec.enabled {
        return not_ready("is switched off");
    }
    if !plugin.is_ready() || plugin.phase() != Phase::Ready {
        // How far it is would be told again at each of its steps, and helps nobody.
        return match plugin.phase() {
            phase @ (Phase::Failed | Phase::Degraded) if plugin.is_observed() => {
                not_ready(&format!("is {phase:?}"))
            }
            _ => not_ready("is not ready yet"),
        };
    }
    let range = fact.dependency.version.as_deref();
    let Some(range) = range.filter(|range| !range.is_empty()) else {
        return Ok(None);
    };
    let version = plugin
        .status
        .as_ref()
        .and_then(|status| status.version.as_deref());
    let version = version.unwrap_or("none");
    Ok((!version_range::satisfies(version, range)?).then(|| {
        Obstacle::new(
            "DependencyVersion",
            format!("plugin {name} is at version {version}, but {range} is needed"),
        )
    }))
}

/// Whether there is work, once the digest of all inputs is known.
pub(crate) fn work(
    facts: &Facts,
    inputs: &str,
    blocked: Option<&Obstacle>,
    backoff: &Backoff,
) -> Work {
    let status = &facts.status;
    if is_installed(facts) && status.input_digest.as_deref() == Some(inputs) {
        return correction(facts, backoff);
    }
    if let Some(blocked) = blocked {
        return Work::Wait(blocked.clone());
    }
    if let Some(hold) = hold(facts, inputs) {
        return hold;
    }
    if is_installed(facts) {
        Work::Upgrade
    } else {
        Work::Install
    }
}

/// Drift is put right at once, but not again and again at once: somebody else may put it wrong each time.
fn correction(facts: &Facts, backoff: &Backoff) -> Work {
    let wants = facts.plugin.spec.drift == Drift::Correct && !facts.objects.drifted.is_empty();
    if !wants {
        return Work::Nothing;
    }
    let tries = &facts.tries;
    let until = tries.corrected.filter(|_| tries.corrections > 0);
    match until.map(|last| last + backoff.pause(tries.corrections)) {
        Some(until) if until > facts.now => Work::Hold { until: Some(until) },
        _ => Work::Correct,
    }
}

/// Whether what failed is left alone: until its time comes or, after the last retry, until something changes.
fn hold(facts: &Facts, inputs: &str) -> Option<Work> {
    let (status, tries) = (&facts.status, &facts.tries);
    if status.attempts == 0 || !facts.is_as_it_failed(inputs) {
        return None;
    }
    if has_no_retry_left(&facts.plugin, status.attempts) {
        return Some(Work::Hold { until: None });
    }
    let until = tries.next.filter(|next| *next > facts.now)?;
    Some(Work::Hold { until: Some(until) })
}

/// Whether a look at chart and values that failed is to be left alone for now.
pub(crate) fn hold_look(facts: &Facts) -> Option<Work> {
    let failed = facts.tries.failed_inputs.as_deref();
    let text = look_text(facts);
    let is_same = failed == Some(&text) && facts.is_read_current;
    if is_same { hold(facts, &text) } else { None }
}

/// Stands for the inputs of a look that did not get to know them.
pub(crate) fn look_text(facts: &Facts) -> String {
    let generation = facts.plugin.metadata.generation.unwrap_or_default();
    format!("generation {generation}")
}

/// Whether all attempts that the plugin allows are used up: the first one and its retries.
pub(crate) fn has_no_retry_left(plugin: &Plugin, attempts: u32) -> bool {
    let retries = plugin.spec.retries;
    retries.is_some_and(|retries| attempts > retries)
}

impl Facts {
    /// Whether nothing changed since the last failure. After a start only the generation is known.
    pub(crate) fn is_as_it_failed(&self, inputs: &str) -> bool {
        match &self.tries.failed_inputs {
            Some(failed) => failed == inputs,
            None => self.status.observed_generation == self.plugin.metadata.generation,
        }
    }
}

/// Where a plugin is whose objects are installed as wanted, by their health.
pub(crate) fn settle(
    before: Phase,
    objects: &ObjectFacts,
    is_overdue: bool,
) -> (Phase, Vec<Saying>) {
    let was_ready = matches!(before, Phase::Ready | Phase::Degraded);
    if objects.are_unknown {
        return if was_ready {
            (before, Vec::new())
        } else {
            let text = "looks at what was installed";
            let sayings = vec![
                Saying::unknown(HEALTHY, "Progressing", text),
                Saying::no(READY, "Progressing", text),
            ];
            (in_progress(before), sayings)
        };
    }
    let Some(text) = unhealthy_text(objects) else {
        let message = match objects.total {
            1 => "1 object is healthy".to_owned(),
            total => format!("{total} objects are healthy"),
        };
        let sayings = vec![
            Saying::yes(HEALTHY, "Healthy", message),
            Saying::yes(READY, "Ready", String::new()),
        ];
        return (Phase::Ready, sayings);
    };
    let has_failed = objects.unhealthy.iter().any(|object| object.has_failed);
    let (phase, reason) = match (was_ready, has_failed, is_overdue) {
        (true, true, _) => (Phase::Degraded, "Unhealthy"),
        (true, false, _) => (Phase::Degraded, "Progressing"),
        (false, true, _) => (Phase::Failed, "Unhealthy"),
        (false, false, true) => (Phase::Failed, "Timeout"),
        // Once it took too long, only health helps.
        (false, false, false) if before == Phase::Failed => (Phase::Failed, "Timeout"),
        (false, false, false) => (in_progress(before), "Progressing"),
    };
    let sayings = vec![
        Saying::no(HEALTHY, reason, text.clone()),
        Saying::no(READY, reason, text),
    ];
    (phase, sayings)
}

fn in_progress(before: Phase) -> Phase {
    match before {
        Phase::Upgrading => Phase::Upgrading,
        _ => Phase::Installing,
    }
}

/// The first few that are not healthy, and how many more.
fn unhealthy_text(objects: &ObjectFacts) -> Option<String> {
    const SHOWN: usize = 3;
    let unhealthy = &objects.unhealthy;
    if unhealthy.is_empty() {
        return None;
    }
    let texts: Vec<String> = unhealthy
        .iter()
        .take(SHOWN)
        .map(|object| format!("{}: {}", object.object, object.why))
        .collect();
    let mut text = texts.join("; ");
    if unhealthy.len() > SHOWN {
        text.push_str(&format!("; and {} more", unhealthy.len() - SHOWN));
    }
    Some(text)
}

#[cfg(test)]
mod tests;
