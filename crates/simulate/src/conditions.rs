//! Conditions of a status: their time is that of the last change.

use serde_json::{Map, Value, json};

use super::object::condition;
use super::step::View;

/// A condition that is to hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) kind: &'a str,
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(kind: &'a str, is_true: bool) -> Self {
        Self {
            kind,
            status: if is_true { "True" } else { "False" },
            reason: "",
            message: "",
        }
    }

    pub(super) fn because(self, reason: &'a str, message: &'a str) -> Self {
        Self {
            reason,
            message,
            ..self
        }
    }

    /// The condition as the object has it if that says the same; a new one if not. `extra` are times that the kind
    /// has beside the usual one.
    pub(super) fn on(&self, object: &Value, view: &View<'_>, extra: &[&str]) -> Value {
        let old = condition(object, self.kind);
        if let Some(old) = old
            && old["status"] == self.status
            && old["reason"].as_str().unwrap_or_default() == self.reason
            && old["message"].as_str().unwrap_or_default() == self.message
        {
            return old.clone();
        }
        let mut new = Map::new();
        new.insert("type".to_owned(), self.kind.into());
        new.insert("status".to_owned(), self.status.into());
        let unchanged = old.filter(|old| old["status"] == self.status);
        let time = unchanged.map_or_else(|| view.time(), |old| old["lastTransitionTime"].clone());
        new.insert("lastTransitionTime".to_owned(), time);
        for key in extra {
            new.insert((*key).to_owned(), view.time());
        }
        for (key, text) in [("reason", self.reason), ("message", self.message)] {
            if !text.is_empty() {
                new.insert(key.to_owned(), json!(text));
            }
        }
        new.into()
    }
}
