//! What of a look is written, and what is told: only what changed, and passing phases only if they last.

use std::sync::Arc;
use std::time::Instant;

use outrigger_api::plugin::{Phase, Plugin};

use super::Pass;
use crate::conditions::{self, READY};
use crate::decide;
use crate::events::Story;
use crate::status;
use crate::trouble::{self, Trouble};

/// How much longer other words on the same phase can wait than another phase.
const WORDS_CAN_WAIT: u32 = 2;

impl Pass {
    pub(super) async fn add_finalizer(&mut self) -> Result<(), Trouble> {
        if decide::has_finalizer(&self.saved) {
            return Ok(());
        }
        self.write_finalizer(true).await
    }

    pub(crate) async fn write_finalizer(&mut self, is_wanted: bool) -> Result<(), Trouble> {
        let result = status::set_finalizer(&self.ctx.client, &self.saved, is_wanted).await;
        match result {
            Ok(plugin) => {
                self.saw(plugin);
                Ok(())
            }
            // It changed, or is gone; the watch tells.
            Err(kube::Error::Api(reply)) if [404, 409].contains(&reply.code) => {
                Err(Trouble::Superseded)
            }
            Err(error) => Err(trouble::unanswered(READY, &error)),
        }
    }

    fn saw(&mut self, mut plugin: Plugin) {
        plugin.metadata.managed_fields = None;
        self.saved = Arc::new(plugin);
        self.written = true;
    }

    /// Writes the status as it stands, if it differs. Used while work is under way, too.
    pub(crate) async fn write_status(&mut self) -> Result<(), kube::Error> {
        let written = status::write(
            &self.ctx.client,
            &self.facts.key,
            self.saved.status.as_ref(),
            &self.draft.status,
        )
        .await?;
        if let Some(plugin) = written {
            self.saw(plugin);
        }
        Ok(())
    }

    /// Takes back, before anything is changed, that all is as it should be. Whoever finds the status after a kill would
    /// believe it, and leave what was begun.
    pub(crate) async fn withdraw(&mut self) -> Result<(), Trouble> {
        self.draft.status.input_digest = None;
        let saved = self.saved.status.as_ref();
        if saved.is_none_or(|status| status.input_digest.is_none()) {
            return Ok(());
        }
        match self.write_status().await {
            Ok(()) => Ok(()),
            // It is gone; the watch tells.
            Err(kube::Error::Api(reply)) if reply.code == 404 => Err(Trouble::Superseded),
            Err(error) => Err(trouble::unanswered(READY, &error)),
        }
    }

    /// Waits until the plugin changes. Never ends if it does not.
    pub(crate) fn superseded(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut superseded = self.superseded.clone();
        async move {
            if superseded.wait_for(|is_true| *is_true).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Saves the status, unless it will be another one in a moment.
    pub(super) async fn save(&mut self) {
        if !matches!(self.draft.status.phase, Phase::Pending) {
            self.draft.confirm();
        }
        if let Some(later) = self.worth_waiting() {
            self.look_again(later);
            return;
        }
        self.tell_transition();
        match self.write_status().await {
            Ok(()) => self.tries.unsaved_since = None,
            Err(kube::Error::Api(reply)) if reply.code == 404 => {}
            Err(error) => {
                tracing::info!(plugin = %self.facts.key, %error, "the status was not saved");
                self.tries.unanswered += 1;
                let pause = self.ctx.options.backoff.pause(self.tries.unanswered);
                self.look_again(Instant::now() + pause);
            }
        }
    }

    /// When a passing phase, or a new word on it, is worth a write.
    fn worth_waiting(&mut self) -> Option<Instant> {
        if self.is_urgent || !status::can_wait(self.draft.status.phase) {
            return None;
        }
        if self.saved.status.as_ref() == Some(&self.draft.status) {
            return None;
        }
        let now = Instant::now();
        let is_told = self.saved.phase() == self.draft.status.phase && self.saved.is_observed();
        let (began, patience) = if is_told {
            (now, WORDS_CAN_WAIT * self.ctx.options.tell_after)
        } else {
            (self.tries.began.unwrap_or(now), self.ctx.options.tell_after)
        };
        let worth = *self.tries.unsaved_since.get_or_insert(began) + patience;
        (now < worth).then_some(worth)
    }

    fn tell_transition(&self) {
        let status = &self.draft.status;
        let (before, told) = match &self.saved.status {
            Some(told) => (told.phase, told.revision),
            None => (Phase::Pending, None),
        };
        // Quick work has no phase of its own that was told.
        if before == status.phase && told == status.revision {
            return;
        }
        let version = status.version.as_deref().unwrap_or_default();
        let message = conditions::find(&status.conditions, READY)
            .map(|ready| ready.message.clone())
            .unwrap_or_default();
        let revision = status.revision.unwrap_or_default();
        let story = match (before, status.phase) {
            (Phase::Degraded, Phase::Ready) if told == status.revision => {
                Story::good("Recovered", "all objects are healthy")
            }
            (_, Phase::Ready) if revision > 1 => Story::good(
                "Upgraded",
                format!("version {version} is ready, revision {revision}"),
            ),
            (_, Phase::Ready) => Story::good("Installed", format!("version {version} is ready")),
            (Phase::Degraded, Phase::Degraded) | (Phase::Waiting, Phase::Waiting) => return,
            (_, Phase::Degraded) => Story::bad("Degraded", message),
            (_, Phase::Waiting) => Story::good("Waiting", message),
            (_, Phase::Failed) if matches!(self.ready_reason(), "Timeout" | "Unhealthy") => {
                Story::bad("Failed", message)
            }
            _ => return,
        };
        self.tell(story);
    }

    fn ready_reason(&self) -> &str {
        let ready = conditions::find(&self.draft.status.conditions, READY);
        ready.map_or("", |ready| ready.reason.as_str())
    }
}
