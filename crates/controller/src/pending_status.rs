//! The next status of a plugin, built up during a reconcile and written at its end.

use jiff::Timestamp;
use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::{Phase, PluginKind, PluginStatus};
use outrigger_api::reason::Reason;

use crate::conditions::{
    self, APPLIED, Cause, ConditionUpdate, DEPENDENCIES_READY, FETCHED, HEALTHY, READY, REMOVABLE,
    RENDERED,
};
use crate::key::Key;
use crate::observed::Observed;
use crate::redact::Redactor;

#[derive(Debug, Clone)]
pub(crate) struct PendingStatus {
    pub(crate) status: PluginStatus,
    generation: Option<i64>,
    now: Timestamp,
    /// Removes values that come from Secrets from the messages of conditions.
    redactor: Redactor,
}

impl PendingStatus {
    /// Starts from the observed status.
    pub(crate) fn new(observed: &Observed, now: Timestamp, redactor: Redactor) -> Self {
        let generation = observed.plugin.metadata.generation;
        let mut status = observed.status.clone();
        status.observed_generation = generation;
        Self {
            status,
            generation,
            now,
            redactor,
        }
    }

    pub(crate) fn set_redactor(&mut self, redactor: Redactor) {
        self.redactor = redactor;
    }

    /// Sets a condition. All messages of conditions pass through here, so that none quotes a Secret.
    pub(crate) fn set_condition(&mut self, mut update: ConditionUpdate) {
        update.message = self.redactor.message(update.reason, &update.message);
        conditions::set(
            &mut self.status.conditions,
            update,
            self.generation,
            self.now,
        );
    }

    /// Sets the phase and the condition Ready, which is true in phase Ready only.
    pub(crate) fn set_phase(&mut self, phase: Phase, cause: &Cause) {
        self.status.phase = phase;
        self.explain_phase(cause);
    }

    /// Sets reason and message of the condition Ready. Its status follows from the phase.
    fn explain_phase(&mut self, cause: &Cause) {
        let update = if self.status.phase == Phase::Ready {
            ConditionUpdate::mark_true(READY, cause.reason, &*cause.message)
        } else {
            ConditionUpdate::mark_false(READY, cause.reason, &*cause.message)
        };
        self.set_condition(update);
    }

    fn set_false(&mut self, kind: &'static str, cause: &Cause) {
        let update = ConditionUpdate::mark_false(kind, cause.reason, &*cause.message);
        self.set_condition(update);
    }

    fn remove_condition(&mut self, kind: &str) {
        self.status
            .conditions
            .retain(|condition| condition.kind != kind);
    }

    /// Sets `observedGeneration` of the conditions that were not updated and hold for this generation: all if it is
    /// installed, else only Ready, which reports that it is not.
    pub(crate) fn confirm_conditions(&mut self) {
        if self.status.observed_generation != self.generation {
            return;
        }
        let is_installed = self.status.installed_generation == self.generation;
        for condition in &mut self.status.conditions {
            if is_installed || condition.kind == READY {
                condition.observed_generation = self.generation;
            }
        }
    }

    pub(crate) fn mark_waiting(&mut self, cause: &Cause) {
        self.set_phase(Phase::Waiting, cause);
    }

    pub(crate) fn mark_unfetched(&mut self, cause: &Cause) {
        self.set_false(FETCHED, cause);
    }

    pub(crate) fn mark_rejected(&mut self, cause: &Cause) {
        self.set_phase(Phase::Failed, cause);
    }

    /// Reports whether the dependencies are ready; removes the condition if there are none.
    pub(crate) fn set_dependencies(&mut self, blocked: Option<&Cause>, has_dependencies: bool) {
        match blocked {
            Some(cause) => self.set_false(DEPENDENCIES_READY, cause),
            None if has_dependencies => {
                let update = ConditionUpdate::mark_true(DEPENDENCIES_READY, Reason::Ready, "");
                self.set_condition(update);
            }
            None => self.remove_condition(DEPENDENCIES_READY),
        }
    }

    /// Reports that a requested removal is blocked. The phase, and whether it is Ready, do not change.
    pub(crate) fn mark_removal_blocked(&mut self, cause: &Cause) {
        self.set_false(REMOVABLE, cause);
        self.explain_phase(cause);
    }

    /// Explains a plugin that is left alone. If it is not Ready, its own reason stays, and its message follows.
    pub(crate) fn annotate_phase(&mut self, cause: &Cause) {
        let ready = conditions::find_mut(&mut self.status.conditions, READY);
        match ready.filter(|_| self.status.phase != Phase::Ready) {
            None => self.explain_phase(cause),
            Some(ready) if ready.message.starts_with(&cause.message) => {}
            Some(ready) if ready.message.is_empty() => ready.message.clone_from(&cause.message),
            Some(ready) => {
                let message = format!("{}; {}", cause.message, ready.message);
                ready.message = conditions::truncated(message);
            }
        }
    }

    pub(crate) fn clear_removal_blocked(&mut self) {
        self.remove_condition(REMOVABLE);
    }

    /// Resets the status: nothing is installed.
    pub(crate) fn mark_disabled(&mut self) {
        let mut status = PluginStatus {
            observed_generation: self.generation,
            ..PluginStatus::default()
        };
        let ready = conditions::find(&self.status.conditions, READY);
        status.conditions.extend(ready.cloned());
        self.status = status;
        let cause = Cause::new(Reason::Disabled, "plugin is disabled");
        self.set_phase(Phase::Disabled, &cause);
    }

    pub(crate) fn mark_removing(&mut self, message: &str) {
        self.clear_removal_blocked();
        self.set_phase(Phase::Removing, &Cause::new(Reason::Removing, message));
    }

    pub(crate) fn mark_started(&mut self, is_upgrade: bool) {
        let (phase, reason) = if is_upgrade {
            (Phase::Upgrading, Reason::Upgrading)
        } else {
            (Phase::Installing, Reason::Installing)
        };
        let message = self.with_last_failure("");
        self.set_phase(phase, &Cause::new(reason, message));
    }

    /// The message about a further attempt, with the cause why the last one failed.
    fn with_last_failure(&self, message: &str) -> String {
        let mut outcomes = [APPLIED, RENDERED]
            .into_iter()
            .filter_map(|kind| conditions::find(&self.status.conditions, kind));
        let failure = outcomes.find(|outcome| outcome.status == ConditionStatus::False);
        let Some(failure) = failure.filter(|_| self.status.attempts > 0) else {
            return message.to_owned();
        };
        let attempt = self.status.attempts + 1;
        let separator = if message.is_empty() { "" } else { "; " };
        format!(
            "{message}{separator}attempt {attempt}, the last one failed: {}",
            failure.message
        )
    }

    /// Reports the progress of an operation that takes long. A correction of drift has no phase of its own: until it ends,
    /// the plugin is not as specified.
    pub(crate) fn set_progress(&mut self, message: &str) {
        let (phase, reason) = match self.status.phase {
            Phase::Installing => (Phase::Installing, Reason::Installing),
            Phase::Upgrading => (Phase::Upgrading, Reason::Upgrading),
            Phase::Removing => (Phase::Removing, Reason::Removing),
            Phase::Ready => (Phase::Degraded, Reason::CorrectingDrift),
            phase => (phase, Reason::CorrectingDrift),
        };
        let message = match (reason, message) {
            (Reason::CorrectingDrift, "") => "drift is being corrected",
            (_, message) => message,
        };
        let message = self.with_last_failure(message);
        self.set_phase(phase, &Cause::new(reason, message));
    }

    /// Reports that an installation or upgrade waits until its objects are healthy. If nothing was written of it yet, the
    /// condition would be about the revision before.
    pub(crate) fn mark_progressing(&mut self, message: &str) {
        if matches!(self.status.phase, Phase::Installing | Phase::Upgrading) {
            let update = ConditionUpdate::mark_false(HEALTHY, Reason::Progressing, message);
            self.set_condition(update);
        }
    }

    pub(crate) fn mark_fetched(&mut self, version: Option<&str>) {
        let message = match version {
            Some(version) => format!("version {version}"),
            None => String::new(),
        };
        self.set_condition(ConditionUpdate::mark_true(
            FETCHED,
            Reason::Fetched,
            message,
        ));
    }

    pub(crate) fn mark_rendered(&mut self, objects: usize) {
        self.set_condition(ConditionUpdate::mark_true(
            RENDERED,
            Reason::Rendered,
            object_count(objects),
        ));
    }

    pub(crate) fn mark_applied(&mut self, revision: i64) {
        let message = format!("revision {revision}");
        self.set_condition(ConditionUpdate::mark_true(
            APPLIED,
            Reason::Applied,
            message,
        ));
        let message = "waiting for the applied objects to be observed";
        self.set_condition(ConditionUpdate::mark_false(
            HEALTHY,
            Reason::Progressing,
            message,
        ));
    }

    /// Reports a failed attempt, and counts it.
    pub(crate) fn mark_failed(
        &mut self,
        condition: &'static str,
        cause: &Cause,
        is_last: bool,
        key: &Key,
    ) {
        self.status.attempts += 1;
        if condition != READY {
            self.set_false(condition, cause);
        }
        let message = if is_last {
            let gave_up = match self.status.attempts {
                1 => "not retried".to_owned(),
                attempts => format!("gave up after {attempts} attempts"),
            };
            format!(
                "{}; {gave_up} until the plugin or its inputs change; `outrigger plugin reconcile {} -n {}` retries now",
                cause.message, key.name, key.namespace
            )
        } else {
            cause.message.clone()
        };
        self.set_phase(Phase::Failed, &Cause::new(cause.reason, message));
    }

    /// Reports the last failure again, if the status claims that the plugin is ready although its spec is not deployed.
    pub(crate) fn restore_failure(&mut self) {
        if self.status.phase != Phase::Ready {
            return;
        }
        let failed = self.status.conditions.iter().find(|condition| {
            [FETCHED, RENDERED, APPLIED].contains(&condition.kind.as_str())
                && condition.status == ConditionStatus::False
        });
        let cause = failed.and_then(|condition| {
            let mut reasons = Reason::ALL.iter();
            let reason = reasons.find(|reason| condition.reason == **reason)?;
            Some(Cause::new(*reason, &*condition.message))
        });
        let unknown = || Cause::new(Reason::ApplyFailed, "the last attempt failed");
        self.set_phase(Phase::Failed, &cause.unwrap_or_else(unknown));
    }

    /// Reports that the cluster or the repository did not respond, so that a new spec or new inputs must wait.
    pub(crate) fn mark_unreachable(&mut self, condition: &'static str, cause: &Cause) {
        if condition != READY {
            self.set_false(condition, cause);
        }
        self.mark_waiting(cause);
    }

    /// Reports that a server did not respond during an operation, which continues when it does. `phase` is that of the
    /// operation.
    pub(crate) fn mark_interrupted(
        &mut self,
        phase: Phase,
        condition: &'static str,
        cause: &Cause,
    ) {
        self.mark_unknown(condition, cause);
        let phase = match phase {
            // A correction of drift.
            Phase::Ready => Phase::Degraded,
            phase => phase,
        };
        self.set_phase(phase, cause);
    }

    /// Reports that the cluster or the repository did not respond, while the plugin is installed as specified.
    pub(crate) fn mark_unknown(&mut self, condition: &'static str, cause: &Cause) {
        if condition != READY {
            let update = ConditionUpdate::mark_unknown(condition, cause.reason, &*cause.message);
            self.set_condition(update);
        }
    }
}

fn object_count(objects: usize) -> String {
    match objects {
        1 => "1 object".to_owned(),
        count => format!("{count} objects"),
    }
}

/// Whether a status that says which inputs are installed has all that is written together with them.
pub(crate) fn is_complete(status: &PluginStatus) -> bool {
    if status.input_digest.is_none() {
        return true;
    }
    let condition = |kind| conditions::find(&status.conditions, kind);
    let objects = condition(RENDERED).map(|rendered| rendered.message.as_str());
    let is_chart = status.kind == Some(PluginKind::Helm);
    objects == Some(&object_count(status.inventory.len()))
        && [FETCHED, APPLIED, HEALTHY, READY]
            .iter()
            .all(|kind| condition(kind).is_some())
        && status.revision.is_some()
        && status.installed_generation.is_some()
        && status.namespace.is_some()
        && status.release_name.is_some()
        && status.kind.is_some()
        && (!is_chart || status.chart.is_some() && status.version.is_some())
}
