//! Why a reconcile did not succeed, and how errors of the parts map to that.

use std::collections::BTreeSet;
use std::error::Error as StdError;

use outrigger_api::reason::Reason;
use outrigger_release::{ActionError, ObjectId, Rejection};

use crate::conditions::{APPLIED, Cause, FETCHED, READY, RENDERED};
use crate::{file_overrides, sources, target, values};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// Something is missing; a watch reports when it is created.
    #[error("{}", .0.message)]
    Wait(Cause),
    /// A kind or a namespace is missing that another plugin may bring.
    #[error("{}", .0.message)]
    Awaited(Cause),
    /// Another tool is changing the release.
    #[error("{}", .0.message)]
    Busy(Cause),
    /// The plugin cannot be installed as written.
    #[error("{}", .0.message)]
    Rejected(Cause),
    /// An attempt failed, and counts as one.
    #[error("{}", cause.message)]
    Failed {
        /// The condition that reports it.
        condition: &'static str,
        cause: Cause,
    },
    /// The cluster or the repository did not respond. Does not count as an attempt.
    #[error("{}", cause.message)]
    Transient {
        condition: &'static str,
        cause: Cause,
    },
    /// The plugin changed during the reconcile.
    #[error("the plugin changed")]
    Superseded,
}

impl ReconcileError {
    pub(crate) fn failed(condition: &'static str, cause: Cause, is_transient: bool) -> Self {
        if is_transient {
            Self::Transient { condition, cause }
        } else {
            Self::Failed { condition, cause }
        }
    }

    /// A failed request to the API server of the plugins.
    pub(crate) fn unreachable(condition: &'static str, error: &(dyn StdError + 'static)) -> Self {
        let cause = Cause::new(Reason::Unreachable, error_chain(error));
        Self::Transient { condition, cause }
    }

    /// A failure to render or to observe a release.
    pub(crate) fn from_release(
        condition: &'static str,
        reason: Reason,
        error: &outrigger_release::Error,
    ) -> Self {
        if let outrigger_release::Error::UnknownKinds(objects) = error {
            return Self::Awaited(missing_kinds(objects));
        }
        let is_transient = error.is_transient();
        let reason = match (is_transient, error.is_forbidden()) {
            (true, _) => Reason::Unreachable,
            (false, true) => Reason::Forbidden,
            (false, false) => reason,
        };
        let message = with_hint(error_chain(error), error.hint());
        Self::failed(condition, Cause::new(reason, message), is_transient)
    }
}

/// What is reported about a response that cannot be decoded.
const INVALID_RESPONSE: &str = "the response of the server is not the expected object";

/// The message of an error followed by those of its sources, each once.
pub(crate) fn error_chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let (message, next) = match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => (status.message.clone(), None),
            // The message of the parser would quote the response.
            Some(kube::Error::SerdeError(_)) => (INVALID_RESPONSE.to_owned(), None),
            _ => (error.to_string(), error.source()),
        };
        if !message.is_empty() && !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = next;
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

impl From<ActionError> for ReconcileError {
    fn from(error: ActionError) -> Self {
        if let Some(cause) = awaited(&error) {
            return Self::Awaited(cause);
        }
        let reason = match error.cluster_error() {
            Some(error) if error.is_forbidden() => Reason::Forbidden,
            Some(error) if error.is_transient() => Reason::Unreachable,
            _ => match error {
                ActionError::Rejected(_) => Reason::Refused,
                ActionError::Hook { .. } => Reason::HookFailed,
                ActionError::Wait(_) => Reason::Unhealthy,
                ActionError::TimedOut => Reason::Timeout,
                ActionError::Delete(_) => Reason::RemovalFailed,
                ActionError::RolledBack { .. } | ActionError::Uninstalled { .. } => {
                    Reason::RolledBack
                }
                ActionError::RollbackFailed { .. } => Reason::RollbackFailed,
                ActionError::Cluster(_) | ActionError::Apply(_) => Reason::ApplyFailed,
            },
        };
        let cause = Cause::new(reason, with_hint(error.full_message(), error.hint()));
        Self::failed(APPLIED, cause, error.is_transient())
    }
}

/// What another plugin may bring, if that is missing.
fn awaited(error: &ActionError) -> Option<Cause> {
    match error {
        ActionError::Rejected(Rejection::NamespaceNotFound { .. }) => {
            let message = format!(
                "{}; waiting for the namespace to be created",
                error.full_message()
            );
            Some(Cause::new(Reason::NamespaceMissing, message))
        }
        ActionError::Cluster(outrigger_release::Error::UnknownKinds(objects)) => {
            Some(missing_kinds(objects))
        }
        _ => None,
    }
}

/// Names the kinds that the cluster does not define. Helm's message is about its own steps.
pub(crate) fn missing_kinds(objects: &[ObjectId]) -> Cause {
    let kinds: BTreeSet<String> = objects
        .iter()
        .map(|object| format!("{} ({})", object.kind, object.api_version))
        .collect();
    let noun = if kinds.len() == 1 { "kind" } else { "kinds" };
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!("waiting for the cluster to define {noun} {kinds}");
    Cause::new(Reason::KindMissing, message)
}

impl From<sources::Error> for ReconcileError {
    fn from(error: sources::Error) -> Self {
        let message = with_hint(error_chain(&error), error.hint());
        let cause = Cause::new(error.reason(), message);
        if error.is_missing() {
            return Self::Wait(cause);
        }
        Self::failed(FETCHED, cause, error.is_transient())
    }
}

impl From<outrigger_api::values::Error> for ReconcileError {
    fn from(error: outrigger_api::values::Error) -> Self {
        if values::is_missing(&error) {
            Self::Wait(Cause::new(Reason::ValuesMissing, error.to_string()))
        } else {
            let reason = if error.is_path() {
                Reason::InvalidPath
            } else {
                Reason::BadValues
            };
            let cause = Cause::new(reason, error.to_string());
            Self::failed(RENDERED, cause, false)
        }
    }
}

impl From<file_overrides::Error> for ReconcileError {
    fn from(error: file_overrides::Error) -> Self {
        Self::Rejected(Cause::new(Reason::BadFileOverride, error_chain(&error)))
    }
}

impl From<target::Error> for ReconcileError {
    fn from(error: target::Error) -> Self {
        match error {
            target::Error::Cluster(error) => {
                Self::from_release(APPLIED, Reason::ClusterFailed, &error)
            }
            target::Error::Unavailable(unavailable) if unavailable.is_refusal() => {
                Self::Rejected(unavailable.cause())
            }
            target::Error::Unavailable(unavailable) => Self::Wait(unavailable.cause()),
            target::Error::ReadSecret { .. } => Self::unreachable(READY, &error),
            error if error.is_missing() => {
                Self::Wait(Cause::new(Reason::ClusterMissing, error.to_string()))
            }
            error => Self::failed(
                APPLIED,
                Cause::new(Reason::BadCluster, error_chain(&error)),
                false,
            ),
        }
    }
}
