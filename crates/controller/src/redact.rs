//! Removes values that come from Secrets from messages, because everyone who may read plugins reads those.

mod forms;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::conditions::Cause;
use crate::error::ReconcileError;

/// Shorter values occur in any message; they are left alone.
const MIN_LENGTH: usize = 3;

/// Shorter values in the names of objects are words.
const MIN_LENGTH_IN_NAME: usize = 8;

const PLACEHOLDER: &str = "[redacted]";

/// The values of Secrets, in all forms in which a message may quote them. The longest come first.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Redactor {
    secrets: Vec<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor of the values in the data of Secrets. Data that is YAML stands for its strings and numbers.
    pub(crate) fn new<'a>(data: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut secrets = BTreeSet::new();
        for bytes in data {
            let Ok(text) = std::str::from_utf8(bytes) else {
                continue;
            };
            add_text(text, &mut secrets);
            if let Ok(value) = outrigger_goyaml::parse_json(bytes) {
                add_leaves(&value, &mut secrets);
            }
        }
        let mut secrets: Vec<String> = secrets.into_iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// The text without the values.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), PLACEHOLDER);
            }
        }
        text
    }

    /// Whether the name of an object of a release contains one of the values. Short ones, and those that the name of the
    /// release contains too, are words rather than secrets.
    pub(crate) fn is_secret_name(&self, name: &str, release: &str) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|secret| {
            secret.len() >= MIN_LENGTH_IN_NAME
                && name.contains(secret.as_str())
                && !release.contains(secret.as_str())
        })
    }

    /// The error without the values.
    pub(crate) fn error(&self, error: ReconcileError) -> ReconcileError {
        let cause = |cause: Cause| Cause {
            message: self.text(&cause.message),
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

/// Adds the strings and numbers of a document.
fn add_leaves(value: &Value, secrets: &mut BTreeSet<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            for text in forms::of_number(number) {
                add_text(&text, secrets);
            }
        }
        Value::String(text) => add_text(text, secrets),
        Value::Array(items) => items.iter().for_each(|item| add_leaves(item, secrets)),
        Value::Object(fields) => fields.values().for_each(|item| add_leaves(item, secrets)),
    }
}

/// Adds a text and its lines, in all forms.
fn add_text(text: &str, secrets: &mut BTreeSet<String>) {
    let lines = text.lines().map(str::trim);
    for part in lines.chain([text, text.trim()]) {
        if part.chars().count() >= MIN_LENGTH {
            secrets.extend(forms::of_text(part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(data: &str, text: &str, expected: &str) {
        let redactor = Redactor::new([data.as_bytes()]);
        assert_eq!(redactor.text(text), expected);
    }

    #[test]
    fn values_are_redacted_in_every_form_in_which_they_are_quoted() {
        check("hunter2", "bad: hunter2!", "bad: [redacted]!");
        check("auth: {password: hunter2}", "hunter2", "[redacted]");
        check("pin: 4711", "pin 4711", "pin [redacted]");
        check("hunter2", "aHVudGVyMg==", "[redacted]==");
        check("pass\"word", r#"got "pass\"word""#, r#"got "[redacted]""#);
        check("-----KEY\nabcdef\n", "line abcdef", "line [redacted]");
        check("enabled: true\nn: 1", "true, 1 of 2", "true, 1 of 2");
    }

    #[test]
    fn values_are_redacted_in_every_form_that_the_engine_produces() {
        // toJson, toRawJson, %q, %+q
        check("amp&sec<99", r"amp\u0026sec\u003c99", "[redacted]");
        check("sch\u{fc}tz9", r"sch\u00fctz9", "[redacted]");
        // html, urlquery, js
        check(
            "lt<secret>\"9'",
            "lt&lt;secret&gt;&#34;9&#39;",
            "[redacted]",
        );
        check("amp&secret 99", "amp%26secret+99", "[redacted]");
        check("it's<99=", r"it\'s\u003C99\u003D", "[redacted]");
        // toYaml, upper, lower, %x
        check("it's secret", "'it''s secret'", "'[redacted]'");
        check("Hunter2", "HUNTER2 hunter2", "[redacted] [redacted]");
        check(
            "hunter2",
            "68756e74657232 68756E74657232",
            "[redacted] [redacted]",
        );
        // Numbers in values are floats.
        check("pin: 123456789", "1.23456789e+08", "[redacted]");
        check("pin: 123456789", "123456789.000000", "[redacted].000000");
        check(
            "pin: 98765.4321",
            "98765.4321 9.87654321e+04",
            "[redacted] [redacted]",
        );
        check("pin: 1.5e300", "1.5e+300", "[redacted]");
    }

    #[test]
    fn debug_output_omits_the_values() {
        let redactor = Redactor::new([b"hunter2".as_slice()]);
        assert!(!format!("{redactor:?}").contains("hunter2"));
    }

    #[test]
    fn names_with_values_are_secret_unless_these_are_words() {
        let redactor =
            Redactor::new([b"{token: hunter2-hunter2, user: admin, site: berlin-east}".as_slice()]);
        assert!(redactor.is_secret_name("web-hunter2-hunter2", "web"));
        assert!(!redactor.is_secret_name("admin-web", "web"));
        assert!(!redactor.is_secret_name("berlin-east-web", "berlin-east"));
    }
}
