//! Why work on a release did not come to a good end.

use crate::error::{Error, chain};
use crate::health::WaitError;
use crate::id::ObjectId;
use crate::plan::Refusal;

/// What went wrong, and what was done about it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Cluster(#[from] Error),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Objects that could not be applied. All of one kind are tried; later kinds are not.
    #[error("{}", errors(.0))]
    Apply(Vec<Error>),
    #[error("failed {event}: {source}")]
    Hook {
        event: &'static str,
        hook: ObjectId,
        source: HookFailure,
    },
    #[error(transparent)]
    Unhealthy(WaitError),
    #[error("failed to remove: {}", errors(.0))]
    Removal(Vec<Error>),
    #[error("timed out")]
    TimedOut,
    /// It failed, and the last good revision is back.
    #[error(
        "release {release} failed, and has been rolled back due to rollback-on-failure being set: {source}"
    )]
    RolledBack {
        release: String,
        revision: u32,
        source: Box<Self>,
    },
    /// The installation failed, and nothing is left of it.
    #[error(
        "release {release} failed, and has been uninstalled due to rollback-on-failure being set: {source}"
    )]
    Uninstalled { release: String, source: Box<Self> },
    /// It failed, and so did the way back.
    #[error(
        "an error occurred while rolling back the release. original error: {source}: {rollback}"
    )]
    Stuck {
        source: Box<Self>,
        rollback: Box<Self>,
    },
}

/// Why a hook did not end well.
#[derive(Debug, thiserror::Error)]
pub enum HookFailure {
    #[error("{}", chain(.0))]
    Cluster(Error),
    #[error(transparent)]
    Wait(WaitError),
}

fn errors(all: &[Error]) -> String {
    let texts: Vec<String> = all.iter().map(|error| chain(error)).collect();
    texts.join("\n")
}

impl Failure {
    /// The whole story in one text. It has no values of secrets.
    pub fn text(&self) -> String {
        match self {
            Self::Cluster(error) => chain(error),
            other => other.to_string(),
        }
    }

    /// What the cluster answered, where that is what went wrong.
    pub fn cluster_error(&self) -> Option<&Error> {
        match self {
            Self::Cluster(error)
            | Self::Unhealthy(WaitError::Cluster(error))
            | Self::Hook {
                source: HookFailure::Cluster(error) | HookFailure::Wait(WaitError::Cluster(error)),
                ..
            } => Some(error),
            Self::Apply(errors) | Self::Removal(errors) => errors.first(),
            Self::RolledBack { source, .. }
            | Self::Uninstalled { source, .. }
            | Self::Stuck { source, .. } => source.cluster_error(),
            _ => None,
        }
    }

    /// Whether trying again later may help without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        self.cluster_error().is_some_and(Error::is_transient)
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => Some(refusal.hint()),
            other => other.cluster_error().and_then(Error::hint),
        }
    }
}
