//! Removes values that come from Secrets from messages, because everyone who may read plugins reads those.
//!
//! Messages quote the values of Secrets as they are and as they were: live objects still have the values of the deployed
//! revision. So the redactor of a plugin is kept in memory, with earlier versions of its Secrets. While no Secret of a plugin
//! has been read, for example after a restart, messages that may quote values are withheld.

mod forms;
mod secret_values;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use outrigger_api::plugin::{Plugin, ValuesKind};
use outrigger_api::reason::Reason;

use crate::conditions::Cause;
use crate::error::ReconcileError;

pub(crate) use secret_values::{SecretCache, SecretVersion};
use secret_values::{SecretValues, Trigrams};

/// Shorter values in the names of objects are words.
const MIN_LENGTH_IN_NAME: usize = 8;

/// Versions of Secrets that are kept in addition to the current ones.
const MAX_EARLIER: usize = 4;

const PLACEHOLDER: &str = "[redacted]";

/// What replaces a message that may quote values which are not known.
pub(crate) const WITHHELD: &str = "message withheld: the Secrets that it may quote cannot be read";

/// What replaces a message that may quote one of too many values.
const TOO_LARGE: &str = "message withheld: the Secrets that it may quote are too large";

/// The values of the Secrets of a plugin.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// The current versions, then earlier ones.
    secrets: Vec<Arc<SecretValues>>,
    /// Whether values come from Secrets that have not been read.
    is_unknown: bool,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor of the values in these Secrets.
    pub(crate) fn new(secrets: Vec<Arc<SecretValues>>) -> Self {
        Self {
            secrets,
            is_unknown: false,
        }
    }

    /// The redactor of a plugin whose Secrets have not been read.
    pub(crate) fn unresolved(plugin: &Plugin) -> Self {
        let mut sources = plugin.spec.values_from.iter();
        Self {
            secrets: Vec::new(),
            is_unknown: sources.any(|from| from.kind == ValuesKind::Secret),
        }
    }

    /// Adds the Secrets that an earlier redactor of the plugin knows: live objects may have their values.
    pub(crate) fn with_earlier(mut self, earlier: &Self) -> Self {
        let max = self.secrets.len() + MAX_EARLIER;
        for secret in &earlier.secrets {
            let is_known = self.secrets.iter().any(|known| Arc::ptr_eq(known, secret));
            if !is_known && self.secrets.len() < max {
                self.secrets.push(Arc::clone(secret));
            }
        }
        self
    }

    /// A message that may quote objects, servers or templates, without the values, in upper or lower case. Values that
    /// overlap are one placeholder.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.is_unknown && !text.is_empty() {
            return WITHHELD.to_owned();
        }
        self.known(text)
    }

    /// A message without the values that are known.
    pub(crate) fn known(&self, text: &str) -> String {
        if self.secrets.is_empty() || [WITHHELD, TOO_LARGE].contains(&text) {
            return text.to_owned();
        }
        // What was redacted before is not searched again.
        let parts: Option<Vec<String>> = text
            .split(PLACEHOLDER)
            .map(|part| self.redacted(part))
            .collect();
        parts.map_or_else(|| TOO_LARGE.to_owned(), |parts| parts.join(PLACEHOLDER))
    }

    /// `None` if there are too many values.
    fn redacted(&self, text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        let mut matches: Vec<Range<usize>> = Vec::new();
        for secret in self.found_in(&lower)? {
            let found = lower.match_indices(secret);
            matches.extend(found.map(|(start, secret)| start..start + secret.len()));
        }
        matches.sort_by_key(|found| found.start);
        let mut shown = String::with_capacity(text.len());
        let mut end = 0;
        for found in matches {
            if found.start >= end {
                shown.push_str(&text[end..found.start]);
                shown.push_str(PLACEHOLDER);
            }
            end = end.max(found.end);
        }
        shown.push_str(&text[end..]);
        Some(shown)
    }

    /// The values that a text in lower case contains; `None` if there are too many to search for.
    fn found_in(&self, lower: &str) -> Option<Vec<&str>> {
        let trigrams = Trigrams::of(lower);
        let mut found = Vec::new();
        for secret in &self.secrets {
            found.extend(secret.found_in(lower, &trigrams)?);
        }
        Some(found)
    }

    /// A message with a reason: one that may quote values is withheld as long as these are not known.
    pub(crate) fn message(&self, reason: Reason, message: &str) -> String {
        match content_of(reason) {
            Content::Fixed => message.to_owned(),
            Content::Names => self.known(message),
            Content::Quotes => self.text(message),
        }
    }

    /// Which of these names of objects of a release contain one of the values. Short ones, and those that the name of the
    /// release contains too, are words rather than secrets.
    pub(crate) fn secret_names(&self, names: &[&str], release: &str) -> Vec<bool> {
        let release = release.to_ascii_lowercase();
        let lower = names.join("\n").to_ascii_lowercase();
        let Some(mut secrets) = self.found_in(&lower) else {
            return vec![true; names.len()];
        };
        secrets.retain(|secret| secret.len() >= MIN_LENGTH_IN_NAME && !release.contains(secret));
        let contains_secret = |name: &str| secrets.iter().any(|secret| name.contains(secret));
        lower.split('\n').map(contains_secret).collect()
    }

    /// The error without the values.
    pub(crate) fn error(&self, error: ReconcileError) -> ReconcileError {
        let cause = |cause: Cause| Cause {
            message: self.message(cause.reason, &cause.message),
            ..cause
        };
        match error {
            ReconcileError::Wait(other) => ReconcileError::Wait(cause(other)),
            ReconcileError::Awaited(other) => ReconcileError::Awaited(cause(other)),
            ReconcileError::Busy(other) => ReconcileError::Busy(cause(other)),
            ReconcileError::Rejected(other) => ReconcileError::Rejected(cause(other)),
            ReconcileError::Failed {
                condition,
                cause: other,
            } => ReconcileError::Failed {
                condition,
                cause: cause(other),
            },
            ReconcileError::Transient {
                condition,
                cause: other,
            } => ReconcileError::Transient {
                condition,
                cause: cause(other),
            },
            ReconcileError::Superseded => ReconcileError::Superseded,
        }
    }
}

/// What the messages with a reason contain.
enum Content {
    /// Only words of the controller, versions and numbers.
    Fixed,
    /// The spec, names of plugins and of sources, responses of repositories, and what was redacted before.
    Names,
    /// Live objects, templates, or responses of the cluster, which may quote values.
    Quotes,
}

fn content_of(reason: Reason) -> Content {
    match reason {
        Reason::Ready
        | Reason::Rendered
        | Reason::Fetched
        | Reason::Applied
        | Reason::Healthy
        | Reason::Disabled => Content::Fixed,
        Reason::BadFileOverride
        | Reason::RenderFailed
        | Reason::BadManifest
        | Reason::HooksRefused
        | Reason::NestingTooDeep
        | Reason::TooManyPlugins
        | Reason::ClusterFailed
        | Reason::ClusterUnreachable
        | Reason::KindMissing
        | Reason::NamespaceMissing
        | Reason::OperationInProgress
        | Reason::Drifted
        | Reason::ApplyFailed
        | Reason::Refused
        | Reason::Forbidden
        | Reason::FieldConflict
        | Reason::HookFailed
        | Reason::RolledBack
        | Reason::RollbackFailed
        | Reason::Progressing
        | Reason::Unhealthy
        | Reason::Timeout => Content::Quotes,
        _ => Content::Names,
    }
}

#[cfg(test)]
mod tests;
