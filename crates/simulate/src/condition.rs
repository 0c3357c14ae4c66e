//! Conditions of a status, with the time of their last transition.

use serde_json::{Map, Value, json};

use super::object::condition;
use super::plan::Context;

/// A desired condition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition<'a> {
    pub(super) type_: &'a str,
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

impl<'a> Condition<'a> {
    pub(super) fn new(type_: &'a str, is_true: bool) -> Self {
        Self {
            type_,
            status: if is_true { "True" } else { "False" },
            reason: "",
            message: "",
        }
    }

    pub(super) fn reason(self, reason: &'a str, message: &'a str) -> Self {
        Self {
            reason,
            message,
            ..self
        }
    }

    /// The condition to write into the status of `object`: the existing one if nothing changes. `time_fields` are the
    /// kind's fields for times beside `lastTransitionTime`.
    pub(super) fn for_object(
        &self,
        object: &Value,
        ctx: &Context<'_>,
        time_fields: &[&str],
    ) -> Value {
        let old = condition(object, self.type_);
        if let Some(old) = old
            && old["status"] == self.status
            && old["reason"].as_str().unwrap_or_default() == self.reason
            && old["message"].as_str().unwrap_or_default() == self.message
        {
            return old.clone();
        }
        let mut new = Map::new();
        new.insert("type".to_owned(), self.type_.into());
        new.insert("status".to_owned(), self.status.into());
        let unchanged = old.filter(|old| old["status"] == self.status);
        let time = unchanged.map_or_else(|| ctx.time(), |old| old["lastTransitionTime"].clone());
        new.insert("lastTransitionTime".to_owned(), time);
        for key in time_fields {
            new.insert((*key).to_owned(), ctx.time());
        }
        for (key, text) in [("reason", self.reason), ("message", self.message)] {
            if !text.is_empty() {
                new.insert(key.to_owned(), json!(text));
            }
        }
        new.into()
    }
}
