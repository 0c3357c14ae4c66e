//! Removes values that come from Secrets from messages, because everyone who may read plugins reads those.

mod forms;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde_json::Value;

use crate::conditions::Cause;
use crate::error::ReconcileError;

/// Shorter values occur in any message; they are left alone.
const MIN_LENGTH: usize = 3;

/// Shorter values in the names of objects are words.
const MIN_LENGTH_IN_NAME: usize = 8;

const PLACEHOLDER: &str = "[redacted]";

/// The values of Secrets, in all forms in which a message may quote them, with ASCII letters in lower case.
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
        Self {
            secrets: secrets.into_iter().collect(),
        }
    }

    /// The text without the values, in upper or lower case. Values that overlap are one placeholder.
    pub(crate) fn text(&self, text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let matches = self.secrets.iter().flat_map(|secret| {
            let found = lower.match_indices(secret.as_str());
            found.map(|(start, secret)| start..start + secret.len())
        });
        let mut matches: Vec<Range<usize>> = matches.collect();
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
        shown
    }

    /// Whether the name of an object of a release contains one of the values. Short ones, and those that the name of the
    /// release contains too, are words rather than secrets.
    pub(crate) fn is_secret_name(&self, name: &str, release: &str) -> bool {
        let (name, release) = (name.to_ascii_lowercase(), release.to_ascii_lowercase());
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
            let forms = forms::of_text(part).into_iter();
            secrets.extend(forms.map(|form| form.to_ascii_lowercase()));
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
        // regexQuoteMeta, nospace
        check("a.b*c99", r"a\.b\*c99", "[redacted]");
        check("correct horse 9", "correcthorse9", "[redacted]");
        // b32enc, b64enc of a text that contains the value
        check("hunter2", "NB2W45DFOIZA====", "[redacted]====");
        check("hunter2", "dXNlcjpodW50ZXIy", "dXNlcjp[redacted]");
        check("hunter2", "dTpodW50ZXIyQHg=", "dTp[redacted]QHg=");
        // title, untitle, swapcase
        check("hunter2", "Hunter2 hUNTER2", "[redacted] [redacted]");
        // % x, %# x
        check("hunter2", "68 75 6e 74 65 72 32", "[redacted]");
        check(
            "hunter2",
            "0x68 0x75 0x6e 0x74 0x65 0x72 0x32",
            "0x[redacted]",
        );
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
    fn values_that_overlap_leave_nothing_of_either() {
        let redactor = Redactor::new([b"abc123".as_slice(), b"123defgh".as_slice()]);
        assert_eq!(redactor.text("-abc123defgh-"), "-[redacted]-");
        // A placeholder is not searched for values.
        let redactor = Redactor::new([b"hunter2".as_slice(), b"acted".as_slice()]);
        assert_eq!(redactor.text("hunter2 acted"), "[redacted] [redacted]");
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
