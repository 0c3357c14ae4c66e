//! One look at one plugin: decide, do what was decided, tell what came of it.

mod save;

use std::sync::Arc;
use std::time::{Duration, Instant};

use outrigger_api::duration;
use outrigger_api::plugin::{Drift, Phase, Plugin, PluginStatus};
use tokio::sync::watch;

use crate::act;
use crate::conditions::{self, APPLIED, READY, Saying};
use crate::context::Context;
use crate::decide::{self, Next, Obstacle, Work};
use crate::draft::Draft;
use crate::events::Story;
use crate::facts::{Facts, Memo, SEEN_WITHIN, Tries};
use crate::observe::{self, Looked, Wanted};
use crate::references::Read;
use crate::status;
use crate::trouble::Trouble;

/// How long a plugin may take to become healthy if it does not say.
const TIMEOUT: Duration = Duration::from_mins(5);

/// What a look came to.
#[derive(Debug)]
pub(crate) struct End {
    /// The plugin as the server has it after the last write.
    pub(crate) written: Option<Box<Plugin>>,
    /// A status that was not worth a write yet.
    pub(crate) unsaved: Option<PluginStatus>,
    pub(crate) tries: Tries,
    /// When to look again if nothing happens.
    pub(crate) again: Option<Instant>,
    /// What was read, if something was.
    pub(crate) read: Option<Read>,
}

/// A look in progress.
pub(crate) struct Pass {
    pub(crate) ctx: Arc<Context>,
    pub(crate) facts: Facts,
    pub(crate) draft: Draft,
    pub(crate) tries: Tries,
    /// The plugin as the server has it.
    pub(crate) saved: Arc<Plugin>,
    pub(crate) written: bool,
    again: Option<Instant>,
    read: Option<Read>,
    /// The inputs of the attempt, once they are known.
    inputs: Option<String>,
    /// Whether the status is worth a write though the phase passes.
    is_urgent: bool,
    /// Turns true when the plugin changes meanwhile.
    superseded: watch::Receiver<bool>,
}

/// Looks at a plugin.
pub(crate) async fn run(ctx: Arc<Context>, facts: Facts, superseded: watch::Receiver<bool>) -> End {
    let now = (ctx.options.now)();
    let mut pass = Pass {
        draft: Draft::new(&facts, now),
        tries: facts.tries.clone(),
        saved: Arc::clone(&facts.plugin),
        written: false,
        again: None,
        read: None,
        inputs: None,
        is_urgent: false,
        superseded,
        ctx,
        facts,
    };
    let gone = pass.go().await;
    if !gone {
        pass.save().await;
    }
    pass.end(gone)
}

impl Pass {
    /// True if the plugin is gone, so that there is nothing to save.
    async fn go(&mut self) -> bool {
        let next = decide::next(&self.facts);
        tracing::debug!(plugin = %self.facts.key, ?next, "decided");
        if !matches!(next, Next::Protect { .. }) {
            self.draft.unprotect();
        }
        match next {
            Next::Nothing => return true,
            Next::Off => self.draft.off(),
            Next::Remove { force } => return act::remove(self, force).await,
            Next::Protect { obstacle, cascade } => self.protect(&obstacle, &cascade).await,
            Next::Refuse(obstacle) => self.refuse(&obstacle),
            Next::Wait(obstacle) => {
                self.draft.dependencies(Some(&obstacle), true);
                self.wait(&obstacle);
            }
            Next::Prepare { blocked } => {
                let result = self.prepare(blocked.as_ref()).await;
                if let Err(trouble) = result {
                    self.handle(trouble);
                }
            }
        }
        false
    }

    async fn prepare(&mut self, blocked: Option<&Obstacle>) -> Result<(), Trouble> {
        let has_dependencies = !self.facts.plugin.spec.dependencies.is_empty();
        self.draft.dependencies(blocked, has_dependencies);
        let backoff = self.ctx.options.backoff;
        if let Some(inputs) = self.remembered() {
            let work = decide::work(&self.facts, &inputs, blocked, &backoff);
            if let Work::Nothing | Work::Hold { .. } | Work::Wait(_) = work {
                self.settle(work);
                return Ok(());
            }
        } else if let Some(hold) = decide::hold_look(&self.facts) {
            self.settle(hold);
            return Ok(());
        }
        let wanted = self.look().await?;
        match decide::work(&self.facts, &wanted.digest, blocked, &backoff) {
            Work::Install => self.install(&wanted, false).await,
            Work::Upgrade => self.install(&wanted, true).await,
            Work::Correct => self.correct(&wanted).await,
            work => {
                self.settle(work);
                Ok(())
            }
        }
    }

    /// The digest of the inputs, if nothing that goes into it changed since the last look.
    fn remembered(&self) -> Option<String> {
        let facts = &self.facts;
        let memo = facts.tries.memo.as_ref()?;
        let registry = observe::image_registry(&self.ctx, &facts.plugin);
        let is_young = facts.now.duration_since(memo.since) < self.ctx.options.resync;
        let holds = facts.is_read_current
            && is_young
            && memo.generation == facts.plugin.metadata.generation
            && memo.image_registry == registry;
        holds.then(|| memo.inputs.clone())
    }

    async fn look(&mut self) -> Result<Wanted, Trouble> {
        let mut looked = Looked::default();
        let plugin = Arc::clone(&self.facts.plugin);
        let wanted = observe::wanted(&self.ctx, &plugin, &mut looked).await;
        self.read = Some(looked.read);
        let wanted = wanted?;
        self.draft.fetched(wanted.material.version());
        self.tries.memo = Some(Memo {
            generation: plugin.metadata.generation,
            image_registry: wanted.image_registry.clone(),
            inputs: wanted.digest.clone(),
            since: Instant::now(),
        });
        Ok(wanted)
    }

    async fn install(&mut self, wanted: &Wanted, is_upgrade: bool) -> Result<(), Trouble> {
        self.inputs = Some(wanted.digest.clone());
        self.tries.began = Some(Instant::now());
        self.add_finalizer().await?;
        self.draft.begin(is_upgrade);
        self.withdraw().await?;
        let done = act::install(self, wanted).await?;
        self.tries.failed_inputs = None;
        self.tries.next = None;
        self.tries.unanswered = 0;
        self.tries.corrections = 0;
        self.draft.status.attempts = 0;
        self.draft.status.input_digest = Some(wanted.digest.clone());
        self.draft.applied(done);
        // What was applied is looked at as soon as the watches have told of it.
        self.again = Some(Instant::now());
        Ok(())
    }

    async fn correct(&mut self, wanted: &Wanted) -> Result<(), Trouble> {
        let text = self.facts.objects.drifted.join("; ");
        self.tries.corrections += 1;
        self.tries.corrected = Some(Instant::now());
        self.withdraw().await?;
        act::correct(self, wanted).await?;
        self.draft.status.input_digest = Some(wanted.digest.clone());
        self.tell(Story::good("DriftCorrected", text));
        self.again = Some(Instant::now());
        Ok(())
    }

    /// Nothing is to be done, or not now: the phase follows the health of what is there.
    fn settle(&mut self, work: Work) {
        match work {
            Work::Wait(obstacle) => {
                self.wait(&obstacle);
                return;
            }
            Work::Hold { until } => {
                self.again = until;
                let installed = self.tries.memo.as_ref().map(|memo| &memo.inputs);
                if installed != self.facts.status.input_digest.as_ref() {
                    return;
                }
            }
            _ => {}
        }
        let before = self.draft.status.phase;
        let is_overdue = self
            .deadline()
            .is_some_and(|deadline| deadline <= self.facts.now);
        let (phase, sayings) = decide::settle(before, &self.facts.objects, is_overdue);
        self.draft.status.phase = phase;
        for saying in sayings {
            self.draft.say(saying);
        }
        self.report_drift();
        if phase == Phase::Ready {
            self.draft.status.attempts = 0;
            self.tries.unanswered = 0;
        }
        if !self.facts.objects.are_unknown {
            // All was seen; what is gone from now on is gone.
            self.tries.applied = None;
        } else if let Some(applied) = &self.tries.applied {
            let at = applied.at + SEEN_WITHIN;
            if at > self.facts.now {
                self.look_again(at);
            }
        }
        if status::is_passing(phase) {
            self.again = self.again.or_else(|| self.deadline());
        } else {
            self.tries.began = None;
            if self.facts.objects.drifted.is_empty() && phase == Phase::Ready {
                self.forget_old_corrections();
            }
        }
    }

    /// Until when it is to be healthy.
    fn deadline(&self) -> Option<Instant> {
        let timeout = self.facts.plugin.spec.timeout.as_deref();
        let timeout = timeout.and_then(duration::parse).unwrap_or(TIMEOUT);
        Some(self.tries.began? + timeout)
    }

    fn forget_old_corrections(&mut self) {
        let longest = self.ctx.options.backoff.longest;
        if let Some(last) = self.tries.corrected
            && self.facts.now.duration_since(last) > longest
        {
            self.tries.corrections = 0;
        }
    }

    fn report_drift(&mut self) {
        let drifted = &self.facts.objects.drifted;
        if self.facts.plugin.spec.drift == Drift::Ignore {
            return;
        }
        let revision = self.draft.status.revision.unwrap_or_default();
        if drifted.is_empty() {
            if is_drifted(&self.draft.status) {
                let message = format!("revision {revision}");
                self.draft.say(Saying::yes(APPLIED, "Applied", message));
            }
            return;
        }
        let text = drifted.join("; ");
        if self.facts.plugin.spec.drift == Drift::Warn && !is_drifted(&self.draft.status) {
            self.tell(Story::bad("Drifted", text.clone()));
        }
        self.draft.say(Saying::yes(APPLIED, "Drifted", text));
    }

    fn wait(&mut self, obstacle: &Obstacle) {
        self.draft.wait(obstacle);
    }

    fn refuse(&mut self, obstacle: &Obstacle) {
        if !self.has_told(obstacle.reason) {
            self.tell(Story::bad("Refused", obstacle.message.clone()));
        }
        self.draft.refuse(obstacle);
    }

    async fn protect(&mut self, obstacle: &Obstacle, cascade: &[crate::key::Key]) {
        if !self.has_told(obstacle.reason) {
            self.tell(Story::bad("RemovalWaits", obstacle.message.clone()));
        }
        self.draft.protect(obstacle);
        if let Err(trouble) = act::cascade(self, cascade).await {
            self.handle(trouble);
        }
    }

    /// Whether the saved status gives this reason already.
    fn has_told(&self, reason: &str) -> bool {
        let ready = conditions::find(&self.facts.status.conditions, READY);
        ready.is_some_and(|ready| ready.reason == reason)
    }

    /// Takes note of what went wrong.
    pub(crate) fn handle(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Superseded => {
                // If the watch has not told of it yet, it will.
                let is_told = *self.superseded.borrow();
                let pause = self.ctx.options.backoff.first;
                let pause = if is_told { Duration::ZERO } else { pause };
                self.again = Some(Instant::now() + pause);
                let saved = self.saved.status.clone().filter(|_| self.written);
                self.draft.status = saved.unwrap_or_else(|| self.facts.status.clone());
            }
            Trouble::Wait(obstacle) => {
                self.tries.memo = None;
                self.wait(&obstacle);
            }
            Trouble::Refuse(obstacle) => self.refuse(&obstacle),
            Trouble::Failed {
                condition,
                obstacle,
            } => self.fail(condition, &obstacle),
            Trouble::Unanswered {
                condition,
                obstacle,
            } => {
                self.tries.unanswered += 1;
                let pause = self.ctx.options.backoff.pause(self.tries.unanswered);
                self.again = Some(Instant::now() + pause);
                // The phase is what it was before this attempt.
                self.draft.status.phase = self.facts.status.phase;
                self.draft.status.observed_generation = self.facts.status.observed_generation;
                self.draft.unanswered(condition, &obstacle);
            }
        }
    }

    fn fail(&mut self, condition: &'static str, obstacle: &Obstacle) {
        let inputs = self.inputs.clone();
        let inputs = inputs.unwrap_or_else(|| decide::look_text(&self.facts));
        if !self.facts.is_as_it_failed(&inputs) {
            self.draft.status.attempts = 0;
        }
        self.tries.failed_inputs = Some(inputs);
        let attempts = self.draft.status.attempts + 1;
        let is_last = decide::has_no_retry_left(&self.facts.plugin, attempts);
        if !self.has_told(obstacle.reason) || is_last {
            self.tell(Story::bad("Failed", obstacle.message.clone()));
        }
        self.draft.fail(condition, obstacle, is_last);
        let next = Instant::now() + self.ctx.options.backoff.pause(attempts);
        self.tries.next = Some(next);
        self.again = (!is_last).then_some(next);
    }

    pub(crate) fn tell(&self, story: Story) {
        self.ctx.teller.tell(&self.saved, story);
    }

    /// The status is to be written at once.
    pub(crate) fn hurry(&mut self) {
        self.is_urgent = true;
    }

    /// Looks again at a time, unless an earlier one is set.
    pub(crate) fn look_again(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }

    fn end(self, is_gone: bool) -> End {
        let is_saved = is_gone || self.saved.status.as_ref() == Some(&self.draft.status);
        End {
            written: self.written.then(|| Box::new(Plugin::clone(&self.saved))),
            unsaved: (!is_saved).then_some(self.draft.status),
            tries: self.tries,
            again: self.again,
            read: self.read,
        }
    }
}

fn is_drifted(status: &PluginStatus) -> bool {
    let applied = conditions::find(&status.conditions, APPLIED);
    applied.is_some_and(|applied| applied.reason == "Drifted")
}
