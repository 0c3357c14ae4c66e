//! Whether objects are healthy: by the rules of kstatus, which Helm 4 has, by our own kinds' phases, and by rules that
//! the user wrote. Pure, but for [`wait`].

mod builtin;
mod own;
mod rules;
#[cfg(test)]
mod tests;
mod wait;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

pub use rules::{InvalidRule, Rule, Rules};
pub(crate) use wait::{Awaited, wait_for};
pub use wait::{Unhealthy, WaitError, wait};

/// How an object is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "message", rename_all = "camelCase")]
pub enum Health {
    /// As it should be.
    Current,
    /// On its way, and what is missing.
    InProgress(String),
    /// It will not get there without help.
    Failed(String),
    /// It is being deleted.
    Terminating,
    /// It is not there.
    Missing,
}

impl Health {
    pub fn is_current(&self) -> bool {
        *self == Self::Current
    }

    /// The name that Helm prints.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Current => "Current",
            Self::InProgress(_) => "InProgress",
            Self::Failed(_) => "Failed",
            Self::Terminating => "Terminating",
            Self::Missing => "NotFound",
        }
    }

    pub fn message(&self) -> &str {
        match self {
            Self::Current => "Resource is current",
            Self::InProgress(message) | Self::Failed(message) => message,
            Self::Terminating => "Resource scheduled for deletion",
            Self::Missing => "Resource not found",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.message())
    }
}

/// How a live object is.
pub fn assess(object: &Value, rules: &Rules) -> Health {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return Health::Terminating;
    }
    if let Some(health) = rules.assess(object) {
        return health;
    }
    own::assess(object).unwrap_or_else(|| builtin::assess(object))
}

fn in_progress(message: impl Into<String>) -> Health {
    Health::InProgress(message.into())
}

/// The conditions of an object as type, status, reason and message.
fn conditions(object: &Value) -> impl Iterator<Item = Condition<'_>> {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().map(|condition| Condition {
        kind: condition["type"].as_str().unwrap_or_default(),
        status: condition["status"].as_str().unwrap_or_default(),
        reason: condition["reason"].as_str().unwrap_or_default(),
        message: condition["message"].as_str().unwrap_or_default(),
    })
}

#[derive(Debug, Clone, Copy)]
struct Condition<'a> {
    kind: &'a str,
    status: &'a str,
    reason: &'a str,
    message: &'a str,
}

impl Condition<'_> {
    fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// The message, or the reason if there is none.
    fn words(&self) -> String {
        match self.message {
            "" => self.reason.to_owned(),
            message => message.to_owned(),
        }
    }
}
