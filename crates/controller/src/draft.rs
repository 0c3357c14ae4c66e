//! The next status of a plugin, as it is put together during one look.

use jiff::Timestamp;
use outrigger_api::plugin::{Phase, PluginStatus};

use crate::conditions::{
    self, APPLIED, DEPENDENCIES_READY, FETCHED, HEALTHY, READY, REMOVABLE, RENDERED, Saying,
};
use crate::decide::Obstacle;
use crate::facts::Facts;

/// A status that is being written.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) status: PluginStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    pub(crate) fn new(facts: &Facts, now: Timestamp) -> Self {
        let generation = facts.plugin.metadata.generation;
        let mut status = facts.status.clone();
        status.observed_generation = generation;
        Self {
            status,
            generation,
            now,
        }
    }

    pub(crate) fn say(&mut self, saying: Saying) {
        conditions::set(
            &mut self.status.conditions,
            saying,
            self.generation,
            self.now,
        );
    }

    /// The conditions that were not spoken of hold for this generation too.
    pub(crate) fn confirm(&mut self) {
        for condition in &mut self.status.conditions {
            condition.observed_generation = self.generation;
        }
    }

    fn unsay(&mut self, kind: &str) {
        self.status
            .conditions
            .retain(|condition| condition.kind != kind);
    }

    /// Waits for something. What is installed already stays what it is.
    pub(crate) fn wait(&mut self, obstacle: &Obstacle) {
        self.status.phase = Phase::Waiting;
        self.say(Saying::no(READY, obstacle.reason, &*obstacle.message));
    }

    pub(crate) fn refuse(&mut self, obstacle: &Obstacle) {
        self.status.phase = Phase::Failed;
        self.say(Saying::no(READY, obstacle.reason, &*obstacle.message));
    }

    pub(crate) fn dependencies(&mut self, blocked: Option<&Obstacle>, are_there_any: bool) {
        match blocked {
            Some(blocked) => {
                let (reason, message) = (blocked.reason, &*blocked.message);
                self.say(Saying::no(DEPENDENCIES_READY, reason, message));
            }
            None if are_there_any => self.say(Saying::yes(DEPENDENCIES_READY, "Ready", "")),
            None => self.unsay(DEPENDENCIES_READY),
        }
    }

    /// Asked to go, but stays for now: as it is, with the reason.
    pub(crate) fn protect(&mut self, obstacle: &Obstacle) {
        self.say(Saying::no(REMOVABLE, obstacle.reason, &*obstacle.message));
        let ready = conditions::find(&self.status.conditions, READY);
        let saying = match ready {
            Some(ready) if conditions::is_true(std::slice::from_ref(ready), READY) => {
                Saying::yes(READY, obstacle.reason, &*obstacle.message)
            }
            _ => Saying::no(READY, obstacle.reason, &*obstacle.message),
        };
        self.say(saying);
    }

    /// Nobody asks it to go any more.
    pub(crate) fn unprotect(&mut self) {
        self.unsay(REMOVABLE);
    }

    /// Nothing of it is in the cluster.
    pub(crate) fn off(&mut self) {
        let mut status = PluginStatus {
            observed_generation: self.generation,
            phase: Phase::Disabled,
            ..PluginStatus::default()
        };
        let ready = conditions::find(&self.status.conditions, READY);
        status.conditions.extend(ready.cloned());
        self.status = status;
        self.say(Saying::no(READY, "Disabled", "is switched off"));
    }

    /// It is being removed.
    pub(crate) fn removing(&mut self, message: &str) {
        self.status.phase = Phase::Removing;
        self.unprotect();
        self.say(Saying::no(READY, "Removing", message));
    }

    /// The work on it begins.
    pub(crate) fn begin(&mut self, is_upgrade: bool) {
        let (phase, reason) = if is_upgrade {
            (Phase::Upgrading, "Upgrading")
        } else {
            (Phase::Installing, "Installing")
        };
        self.status.phase = phase;
        self.say(Saying::no(READY, reason, ""));
    }

    /// How the work goes on.
    pub(crate) fn progress(&mut self, text: &str) {
        let reason = match self.status.phase {
            Phase::Upgrading => "Upgrading",
            Phase::Removing => "Removing",
            _ => "Installing",
        };
        self.say(Saying::no(READY, reason, text));
    }

    pub(crate) fn fetched(&mut self, version: Option<&str>) {
        let message = match version {
            Some(version) => format!("version {version}"),
            None => String::new(),
        };
        self.say(Saying::yes(FETCHED, "Fetched", message));
    }

    pub(crate) fn rendered(&mut self, objects: usize) {
        let message = match objects {
            1 => "1 object".to_owned(),
            count => format!("{count} objects"),
        };
        self.say(Saying::yes(RENDERED, "Rendered", message));
    }

    pub(crate) fn applied(&mut self, revision: i64) {
        let message = format!("revision {revision}");
        self.say(Saying::yes(APPLIED, "Applied", message));
        self.say(Saying::no(HEALTHY, "Progressing", "was applied just now"));
    }

    /// An attempt failed.
    pub(crate) fn fail(&mut self, condition: &'static str, obstacle: &Obstacle, last: bool) {
        self.status.phase = Phase::Failed;
        self.status.attempts += 1;
        if condition != READY {
            self.say(Saying::no(condition, obstacle.reason, &*obstacle.message));
        }
        let message = if last {
            let attempts = self.status.attempts;
            format!(
                "{}; given up after {attempts} attempts, until something changes",
                obstacle.message
            )
        } else {
            obstacle.message.clone()
        };
        self.say(Saying::no(READY, obstacle.reason, message));
    }

    /// The cluster or the repository did not answer: nothing is known to be worse than before.
    pub(crate) fn unanswered(&mut self, condition: &'static str, obstacle: &Obstacle) {
        if condition != READY {
            self.say(Saying::unknown(
                condition,
                obstacle.reason,
                &*obstacle.message,
            ));
        }
        if !conditions::is_true(&self.status.conditions, READY) {
            self.say(Saying::no(READY, obstacle.reason, &*obstacle.message));
        }
    }
}
