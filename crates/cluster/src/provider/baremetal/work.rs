//! What a step does on a machine: a script with its variables. The plan and the effect are made of the same.

use std::time::Duration;

use outrigger_node::quote;

use crate::changes::{Change, written_by};
use crate::steps::{digest, tail};
use crate::{Effect, Outcome, Remote, Script, StepError, StepPlan};

/// The beginning of all scripts.
const PRELUDE: &str = include_str!("scripts/prelude.sh");
/// Less than a step may take.
const TIMEOUT: Duration = Duration::from_mins(9);
/// How much of the end of an output is part of a message.
const MAX_MESSAGE: usize = 400;

/// A script with its variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Work {
    /// What it does, for people.
    pub(super) text: String,
    pub(super) script: &'static str,
    pub(super) variables: Vec<(&'static str, String)>,
}

impl Work {
    pub(super) fn new(text: impl Into<String>, script: &'static str) -> Self {
        Self {
            text: text.into(),
            script,
            variables: Vec::new(),
        }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Identifies the input. The script is not part of it: a new version of Outrigger repeats nothing.
    pub(super) fn digest(&self) -> String {
        let variables = self.variables.iter();
        let parts: Vec<&str> = variables
            .flat_map(|(name, value)| [*name, value.as_str()])
            .collect();
        digest(&parts)
    }

    pub(super) fn plan(&self) -> StepPlan {
        StepPlan {
            digest: self.digest(),
            text: self.text.clone(),
        }
    }

    /// The files that it writes.
    pub(super) fn changes(&self) -> Vec<Change> {
        written_by(self.script)
    }

    /// Does it once for the attempt of a step. `secrets` are further variables, which are not part of the input.
    pub(super) async fn attempt(
        &self,
        effect: Effect<'_>,
        secrets: &[(&'static str, String)],
    ) -> Result<(), StepError> {
        let uid = effect.cluster.metadata.uid.clone().unwrap_or_default();
        let mut variables = self.variables.clone();
        variables.extend(secrets.iter().cloned());
        variables.push(("CLUSTER", uid));
        variables.push(("STEP", effect.attempt.task.step.to_owned()));
        variables.push(("DIGEST", self.digest()));
        let script = script(self.script, &variables);
        let (task, id) = (effect.task(), effect.attempt.id());
        let outcome = effect.remote.run_script(&task, &id, &script).await?;
        let (how, output) = match outcome {
            Outcome::Exited { code: 0, .. } => return Ok(()),
            Outcome::Exited { code, output } => (format!("exited with code {code}"), output),
            Outcome::TimedOut { after, output } => {
                (format!("did not end within {after:?}"), output)
            }
            Outcome::Canceled => ("was canceled".to_owned(), crate::Output::default()),
            Outcome::Lost { output } => ("was interrupted".to_owned(), output),
        };
        Err(StepError::Script {
            what: self.text.clone(),
            how,
            output: tail(output.text.trim(), MAX_MESSAGE).0.to_owned(),
        })
    }

    /// Does it in any case, and returns what it prints.
    pub(super) async fn query(&self, remote: &dyn Remote) -> Result<String, StepError> {
        let answer = remote.query(&script(self.script, &self.variables)).await;
        answer.map_err(|error| StepError::Provider(format!("{}: {error}", self.text)))
    }
}

/// The text of the script of a work.
pub(super) fn text(work: &Work) -> String {
    script(work.script, &work.variables).text
}

fn script(body: &str, variables: &[(&'static str, String)]) -> Script {
    let mut text = PRELUDE.to_owned();
    for (name, value) in variables {
        text.push_str(&format!("{name}={}\n", quote(value)));
    }
    text.push_str(body);
    Script {
        text,
        timeout: TIMEOUT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_quoted_and_make_the_digest() {
        let work = |value: &str| Work::new("test", "echo \"$A\"\n").with("A", value);
        let text = script("echo \"$A\"\n", &work("it's $(reboot)").variables).text;
        assert!(
            text.ends_with("\nA='it'\\''s $(reboot)'\necho \"$A\"\n"),
            "{text}"
        );
        assert_ne!(work("a").digest(), work("b").digest());
        assert_eq!(work("a").digest(), work("a").digest());
    }
}
