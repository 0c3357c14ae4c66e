//! Health of objects: user-defined CEL rules, the status of plugins, and kstatus as in Helm 4. Pure, except [`wait`].

mod kstatus;
mod plugin_kinds;
mod rules;
#[cfg(test)]
mod tests;
mod wait;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

pub use rules::{InvalidRule, Rule, Rules};
pub use wait::{NotReady, WaitError, wait};
pub(crate) use wait::{WaitTarget, wait_for};

/// The status of an object, as in kstatus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "message", rename_all = "camelCase")]
pub enum Health {
    Current,
    InProgress(String),
    /// The object will not become current without intervention.
    Failed(String),
    Terminating,
    NotFound,
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
            Self::NotFound => "NotFound",
        }
    }

    pub fn message(&self) -> &str {
        match self {
            Self::Current => "Resource is current",
            Self::InProgress(message) | Self::Failed(message) => message,
            Self::Terminating => "Resource scheduled for deletion",
            Self::NotFound => "Resource not found",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.message())
    }
}

/// Assesses a live object.
pub fn assess(object: &Value, rules: &Rules) -> Health {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return Health::Terminating;
    }
    if let Some(health) = rules.assess(object) {
        return health;
    }
    plugin_kinds::assess(object).unwrap_or_else(|| kstatus::assess(object))
}

fn in_progress(message: impl Into<String>) -> Health {
    Health::InProgress(message.into())
}

fn conditions(object: &Value) -> impl Iterator<Item = Condition<'_>> {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().map(|condition| Condition {
        kind: condition["type"].as_str().unwrap_or_default(),
        status: condition["status"].as_str().unwrap_or_default(),
        reason: condition["reason"].as_str().unwrap_or_default(),
        message: condition["message"].as_str().unwrap_or_default(),
        updated_at: condition["lastUpdateTime"].as_str(),
        observed_generation: condition["observedGeneration"].as_i64(),
    })
}

#[derive(Debug, Clone, Copy)]
struct Condition<'a> {
    kind: &'a str,
    status: &'a str,
    reason: &'a str,
    message: &'a str,
    updated_at: Option<&'a str>,
    observed_generation: Option<i64>,
}

impl Condition<'_> {
    fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// The message, or the reason if the message is empty.
    fn text(&self) -> String {
        match self.message {
            "" => self.reason.to_owned(),
            message => message.to_owned(),
        }
    }
}
