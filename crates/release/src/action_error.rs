//! Errors of install, upgrade, rollback, repair and uninstall.

use crate::error::{Error, chain};
use crate::health::WaitError;
use crate::id::ObjectId;
use crate::plan::Rejection;

/// Why an action failed, and whether it was rolled back. Helm's wording where Helm has one.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    #[error(transparent)]
    Cluster(#[from] Error),
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// Objects that failed to apply. All objects of a kind are attempted, later kinds are not.
    #[error("{}", errors(.0))]
    Apply(Vec<Error>),
    #[error("failed {event}: {source}")]
    Hook {
        event: &'static str,
        hook: ObjectId,
        source: HookError,
    },
    #[error(transparent)]
    Wait(WaitError),
    #[error("failed to delete: {}", errors(.0))]
    Delete(Vec<Error>),
    #[error("timed out")]
    TimedOut,
    #[error(
        "release {release} failed, and has been rolled back due to rollback-on-failure being set: {source}"
    )]
    RolledBack {
        release: String,
        revision: u32,
        source: Box<Self>,
    },
    #[error(
        "release {release} failed, and has been uninstalled due to rollback-on-failure being set: {source}"
    )]
    Uninstalled { release: String, source: Box<Self> },
    #[error(
        "an error occurred while rolling back the release. original error: {source}: {rollback}"
    )]
    RollbackFailed {
        source: Box<Self>,
        rollback: Box<Self>,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("{}", chain(.0))]
    Cluster(Error),
    #[error(transparent)]
    Wait(WaitError),
}

fn errors(all: &[Error]) -> String {
    let texts: Vec<String> = all.iter().map(|error| chain(error)).collect();
    texts.join("\n")
}

impl ActionError {
    /// The message including all sources. Contains no values of Secrets.
    pub fn full_message(&self) -> String {
        match self {
            Self::Cluster(error) => chain(error),
            other => other.to_string(),
        }
    }

    /// The underlying cluster error, if there is one.
    pub fn cluster_error(&self) -> Option<&Error> {
        match self {
            Self::Cluster(error)
            | Self::Wait(WaitError::Cluster(error))
            | Self::Hook {
                source: HookError::Cluster(error) | HookError::Wait(WaitError::Cluster(error)),
                ..
            } => Some(error),
            Self::Apply(errors) | Self::Delete(errors) => errors.first(),
            Self::RolledBack { source, .. } | Self::Uninstalled { source, .. } => {
                source.cluster_error()
            }
            Self::RollbackFailed { source, rollback } => {
                rollback.cluster_error().or_else(|| source.cluster_error())
            }
            _ => None,
        }
    }

    /// Whether a retry may succeed without any change.
    pub fn is_transient(&self) -> bool {
        self.cluster_error().is_some_and(Error::is_transient)
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Rejected(rejection) => Some(rejection.hint()),
            other => other.cluster_error().and_then(Error::hint),
        }
    }
}
