//! `Ensure…Hook`: runs the script of a hook.
//!
//! Arguments are not part of the input: a new label or annotation does not run a hook again.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::flow_status::HookStatus;
use outrigger_api::hook::Hook;

use super::{Effect, Report, Step, StepError, StepInput, StepPlan, digest};
use crate::hook_command::hook_command;
use crate::{Outcome, Output};

/// How much of the end of an output is kept in the status.
const MAX_OUTPUT: usize = 4096;
/// How much of it is part of a message.
const MAX_MESSAGE: usize = 200;

pub(crate) struct RunHook(pub(crate) &'static Hook);

impl RunHook {
    fn path<'a>(&self, input: &StepInput<'a>) -> Option<&'a str> {
        let hooks = &input.cluster.spec.features.hooks;
        hooks.get(self.0.name).map(String::as_str)
    }

    async fn execute(&self, effect: Effect<'_>) -> Result<(String, Outcome), StepError> {
        let path = self.path(&effect.input()).unwrap_or_default();
        let script = effect.tree.digest_of(path);
        let script = script.ok_or_else(|| StepError::NoScript(path.to_owned()))?;
        let command = hook_command(
            self.0,
            path,
            effect.cluster,
            effect.machine,
            effect.attempt.number,
        )?;
        let (task, id) = (effect.task(), effect.attempt.id());
        let outcome = effect.remote.run(&task, &id, &command).await?;
        Ok((script.to_owned(), outcome))
    }

    fn report(&self, effect: Effect<'_>, script: String, outcome: &Outcome) -> Report {
        let empty = Output::default();
        let (exit_code, output) = match outcome {
            Outcome::Exited { code, output } => (Some(*code), output),
            Outcome::TimedOut { output, .. } | Outcome::Lost { output } => (None, output),
            Outcome::Canceled => (None, &empty),
        };
        let (text, is_cut) = tail(&output.text, MAX_OUTPUT);
        let hook = HookStatus {
            name: self.0.name.to_owned(),
            machine: effect.machine.metadata.name.clone().unwrap_or_default(),
            attempt: effect.attempt.id(),
            script_digest: script,
            exit_code,
            finished: String::new(),
            output: text.to_owned(),
            truncated: output.is_truncated || is_cut,
        };
        Report {
            hook: Some(hook),
            ..Report::default()
        }
    }
}

/// The result of a hook that ended.
pub fn hook_result(hook: &'static str, outcome: &Outcome) -> Result<(), StepError> {
    match outcome {
        Outcome::Exited { code: 0, .. } => Ok(()),
        Outcome::Exited { code, output } => Err(StepError::HookFailed {
            hook,
            code: *code,
            output: tail(output.text.trim(), MAX_MESSAGE).0.to_owned(),
        }),
        Outcome::TimedOut { after, .. } => Err(StepError::HookTimedOut {
            hook,
            timeout: *after,
        }),
        Outcome::Canceled => Err(StepError::HookCanceled { hook }),
        Outcome::Lost { .. } => Err(StepError::HookLost { hook }),
    }
}

impl Step for RunHook {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let path = self.path(input)?;
        let script = input.tree.digest_of(path).unwrap_or_default();
        Some(StepPlan {
            digest: digest(&[path, script]),
            text: format!("run {path}"),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            match self.execute(effect).await {
                Ok((script, outcome)) => {
                    let result = hook_result(self.0.name, &outcome);
                    (self.report(effect, script, &outcome), result)
                }
                Err(error) => (Report::default(), Err(error)),
            }
        }
        .boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}

/// The end of a text, and whether something is missing.
pub fn tail(text: &str, limit: usize) -> (&str, bool) {
    let start = text.len().saturating_sub(limit);
    let start = (start..=text.len()).find(|index| text.is_char_boundary(*index));
    let start = start.unwrap_or(text.len());
    (&text[start..], start > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_kept_at_character_boundaries() {
        assert_eq!(tail("abc", 5), ("abc", false));
        assert_eq!(tail("abcdef", 3), ("def", true));
        assert_eq!(tail("äöü", 3), ("ü", true));
        assert_eq!(tail("", 0), ("", false));
    }
}
