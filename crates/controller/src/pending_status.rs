//! The next status of a plugin, built up during a reconcile and written at its end.

use jiff::Timestamp;
use outrigger_api::plugin::{Phase, PluginStatus};

use crate::conditions::{
    self, APPLIED, Cause, ConditionUpdate, DEPENDENCIES_READY, FETCHED, HEALTHY, READY, REMOVABLE,
    RENDERED,
};
use crate::observed::Observed;

#[derive(Debug, Clone)]
pub(crate) struct PendingStatus {
    pub(crate) status: PluginStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl PendingStatus {
    /// Starts from the observed status.
    pub(crate) fn new(observed: &Observed, now: Timestamp) -> Self {
        let generation = observed.plugin.metadata.generation;
        let mut status = observed.status.clone();
        status.observed_generation = generation;
        Self {
            status,
            generation,
            now,
        }
    }

    pub(crate) fn set_condition(&mut self, update: ConditionUpdate) {
        conditions::set(
            &mut self.status.conditions,
            update,
            self.generation,
            self.now,
        );
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

    /// Sets `observedGeneration` of all conditions: those that were not updated still hold.
    pub(crate) fn confirm_conditions(&mut self) {
        for condition in &mut self.status.conditions {
            condition.observed_generation = self.generation;
        }
    }

    pub(crate) fn mark_waiting(&mut self, cause: &Cause) {
        self.status.phase = Phase::Waiting;
        self.set_false(READY, cause);
    }

    pub(crate) fn mark_unfetched(&mut self, cause: &Cause) {
        self.set_false(FETCHED, cause);
    }

    pub(crate) fn mark_rejected(&mut self, cause: &Cause) {
        self.status.phase = Phase::Failed;
        self.set_false(READY, cause);
    }

    /// Reports whether the dependencies are ready; removes the condition if there are none.
    pub(crate) fn set_dependencies(&mut self, blocked: Option<&Cause>, has_dependencies: bool) {
        match blocked {
            Some(cause) => self.set_false(DEPENDENCIES_READY, cause),
            None if has_dependencies => {
                let update = ConditionUpdate::mark_true(DEPENDENCIES_READY, "Ready", "");
                self.set_condition(update);
            }
            None => self.remove_condition(DEPENDENCIES_READY),
        }
    }

    /// Reports that a requested removal is blocked. The phase, and whether it is Ready, do not change.
    pub(crate) fn mark_removal_blocked(&mut self, cause: &Cause) {
        self.set_false(REMOVABLE, cause);
        if conditions::is_true(&self.status.conditions, READY) {
            self.annotate_ready(cause);
        } else {
            self.set_false(READY, cause);
        }
    }

    /// Explains a Ready plugin. The status of the condition does not change.
    pub(crate) fn annotate_ready(&mut self, cause: &Cause) {
        if conditions::is_true(&self.status.conditions, READY) {
            let update = ConditionUpdate::mark_true(READY, cause.reason, &*cause.message);
            self.set_condition(update);
        }
    }

    pub(crate) fn clear_removal_blocked(&mut self) {
        self.remove_condition(REMOVABLE);
    }

    /// Resets the status: nothing is installed.
    pub(crate) fn mark_disabled(&mut self) {
        let mut status = PluginStatus {
            observed_generation: self.generation,
            phase: Phase::Disabled,
            ..PluginStatus::default()
        };
        let ready = conditions::find(&self.status.conditions, READY);
        status.conditions.extend(ready.cloned());
        self.status = status;
        let update = ConditionUpdate::mark_false(READY, "Disabled", "plugin is disabled");
        self.set_condition(update);
    }

    pub(crate) fn mark_removing(&mut self, message: &str) {
        self.status.phase = Phase::Removing;
        self.clear_removal_blocked();
        self.set_condition(ConditionUpdate::mark_false(READY, "Removing", message));
    }

    pub(crate) fn mark_started(&mut self, is_upgrade: bool) {
        let (phase, reason) = if is_upgrade {
            (Phase::Upgrading, "Upgrading")
        } else {
            (Phase::Installing, "Installing")
        };
        self.status.phase = phase;
        self.set_condition(ConditionUpdate::mark_false(READY, reason, ""));
    }

    /// Reports the progress of the operation that the phase names.
    pub(crate) fn set_progress(&mut self, message: &str) {
        let reason = match self.status.phase {
            Phase::Upgrading => "Upgrading",
            Phase::Removing => "Removing",
            _ => "Installing",
        };
        self.set_condition(ConditionUpdate::mark_false(READY, reason, message));
    }

    pub(crate) fn mark_fetched(&mut self, version: Option<&str>) {
        let message = match version {
            Some(version) => format!("version {version}"),
            None => String::new(),
        };
        self.set_condition(ConditionUpdate::mark_true(FETCHED, "Fetched", message));
    }

    pub(crate) fn mark_rendered(&mut self, objects: usize) {
        let message = match objects {
            1 => "1 object".to_owned(),
            count => format!("{count} objects"),
        };
        self.set_condition(ConditionUpdate::mark_true(RENDERED, "Rendered", message));
    }

    pub(crate) fn mark_applied(&mut self, revision: i64) {
        let message = format!("revision {revision}");
        self.set_condition(ConditionUpdate::mark_true(APPLIED, "Applied", message));
        let message = "waiting for the applied objects to be observed";
        self.set_condition(ConditionUpdate::mark_false(HEALTHY, "Progressing", message));
    }

    /// Reports a failed attempt, and counts it.
    pub(crate) fn mark_failed(&mut self, condition: &'static str, cause: &Cause, is_last: bool) {
        self.status.phase = Phase::Failed;
        self.status.attempts += 1;
        if condition != READY {
            self.set_false(condition, cause);
        }
        let message = if is_last {
            let attempts = self.status.attempts;
            format!(
                "{}; gave up after {attempts} attempts until the plugin or its inputs change",
                cause.message
            )
        } else {
            cause.message.clone()
        };
        self.set_condition(ConditionUpdate::mark_false(READY, cause.reason, message));
    }

    /// Reports that the cluster or the repository did not respond, so that a new spec or new inputs must wait.
    pub(crate) fn mark_unreachable(&mut self, condition: &'static str, cause: &Cause) {
        if condition != READY {
            self.set_false(condition, cause);
        }
        self.mark_waiting(cause);
    }

    /// Reports that a server did not respond during an operation, which continues when it does.
    pub(crate) fn mark_unready(&mut self, condition: &'static str, cause: &Cause) {
        self.mark_unknown(condition, cause);
        self.set_false(READY, cause);
    }

    /// Reports that the cluster or the repository did not respond, while the plugin is installed as specified.
    pub(crate) fn mark_unknown(&mut self, condition: &'static str, cause: &Cause) {
        if condition != READY {
            let update = ConditionUpdate::mark_unknown(condition, cause.reason, &*cause.message);
            self.set_condition(update);
        }
    }
}
