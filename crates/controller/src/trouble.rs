//! What can keep a plugin from being installed, and what that means for it.

use std::error::Error as StdError;

use crate::conditions::{APPLIED, FETCHED, READY, RENDERED};
use crate::decide::Obstacle;
use crate::{file_overrides, sources, target, values};

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Something is missing that will be seen when it comes.
    Wait(Obstacle),
    /// It cannot be done as written; only a change of the plugin helps.
    Refuse(Obstacle),
    /// An attempt failed. The condition is the one that it is about.
    Failed {
        condition: &'static str,
        obstacle: Obstacle,
    },
    /// The cluster or the repository did not answer. Not counted as an attempt.
    Unanswered {
        condition: &'static str,
        obstacle: Obstacle,
    },
    /// The plugin changed while it was worked on.
    Superseded,
}

impl Trouble {
    fn failed(
        condition: &'static str,
        reason: &'static str,
        message: impl Into<String>,
        is_transient: bool,
    ) -> Self {
        let obstacle = Obstacle::new(reason, message);
        if is_transient {
            Self::Unanswered {
                condition,
                obstacle,
            }
        } else {
            Self::Failed {
                condition,
                obstacle,
            }
        }
    }
}

/// The words of an error and of what caused it, none twice.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => status.message.clone(),
            _ => error.to_string(),
        };
        if !words.is_empty() && !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

pub(crate) fn with_hint(mut text: String, hint: Option<String>) -> String {
    if let Some(hint) = hint {
        text.push_str(" (");
        text.push_str(&hint);
        text.push(')');
    }
    text
}

impl From<sources::Error> for Trouble {
    fn from(error: sources::Error) -> Self {
        let text = with_hint(chain(&error), error.hint());
        if error.is_missing() {
            return Self::Wait(Obstacle::new(error.reason(), text));
        }
        Self::failed(FETCHED, error.reason(), text, error.is_transient())
    }
}

impl From<outrigger_api::values::Error> for Trouble {
    fn from(error: outrigger_api::values::Error) -> Self {
        if values::is_missing(&error) {
            Self::Wait(Obstacle::new("ValuesMissing", error.to_string()))
        } else {
            Self::failed(RENDERED, "BadValues", error.to_string(), false)
        }
    }
}

impl From<file_overrides::Error> for Trouble {
    fn from(error: file_overrides::Error) -> Self {
        Self::Refuse(Obstacle::new("BadFileOverride", chain(&error)))
    }
}

impl From<target::Error> for Trouble {
    fn from(error: target::Error) -> Self {
        match error {
            target::Error::Cluster(error) => release(APPLIED, "ClusterFailed", &error),
            target::Error::Read { .. } => unanswered(READY, &error),
            error if error.is_missing() => {
                Self::Wait(Obstacle::new("ClusterMissing", error.to_string()))
            }
            error => Self::failed(APPLIED, "BadCluster", chain(&error), false),
        }
    }
}

/// A failure of the API server that the plugins are on.
pub(crate) fn unanswered(condition: &'static str, error: &(dyn StdError + 'static)) -> Trouble {
    Trouble::failed(condition, "Unreachable", chain(error), true)
}

/// A failure of a release.
pub(crate) fn release(
    condition: &'static str,
    reason: &'static str,
    error: &outrigger_release::Error,
) -> Trouble {
    let is_transient = error.is_transient();
    let reason = match (is_transient, error.is_forbidden()) {
        (true, _) => "Unreachable",
        (false, true) => "Forbidden",
        (false, false) => reason,
    };
    let text = with_hint(chain(error), error.hint());
    Trouble::failed(condition, reason, text, is_transient)
}

/// Why a request to the API server failed: because it is away or busy, or because of what was asked.
pub(crate) fn is_transient(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        _ => true,
    }
}
