//! What a validation found, before it becomes errors about fields.

use serde_json::Value;

use crate::schema::field_error::{FieldError, Reason};
use crate::schema::go_json;

/// The problems of a value, and how many checks it passed.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) problems: Vec<Problem>,
    /// Decides which branch of `anyOf` and `oneOf` is told about.
    pub(super) matches: usize,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds a problem, unless the same was found already.
    pub(super) fn add(&mut self, problem: Problem) {
        if self.problems.iter().all(|other| other.text != problem.text) {
            self.problems.push(problem);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        other
            .problems
            .into_iter()
            .for_each(|problem| self.add(problem));
    }
}

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct Problem {
    /// Where, or nothing if the problem is not about one field.
    path: Option<String>,
    reason: Reason,
    value: Value,
    /// The whole text, which tells problems apart.
    text: String,
    /// What the error says, if it is not the text.
    detail: Option<Detail>,
}

#[derive(Debug)]
enum Detail {
    Nothing,
    AtMostBytes(i64),
    AtMostItems(i64),
    OneOf(Vec<String>),
}

impl Problem {
    fn new(path: &str, reason: Reason, value: Value, text: String) -> Self {
        Self {
            path: Some(path.to_owned()),
            reason,
            value,
            text,
            detail: None,
        }
    }

    /// A problem that is not about one field.
    pub(super) fn general(text: String) -> Self {
        Self {
            path: None,
            ..Self::new("", Reason::Invalid, "".into(), text)
        }
    }

    /// A problem whose text begins with the field.
    pub(super) fn at(
        path: &str,
        reason: Reason,
        value: impl Into<Value>,
        text: impl AsRef<str>,
    ) -> Self {
        let text = format!("{path} in body {}", text.as_ref());
        Self::new(path, reason, value.into(), text)
    }

    pub(super) fn exactly(
        path: &str,
        reason: Reason,
        value: impl Into<Value>,
        text: String,
    ) -> Self {
        Self::new(path, reason, value.into(), text)
    }

    pub(super) fn required(path: &str) -> Self {
        let mut problem = Self::at(path, Reason::Required, "", "is required");
        problem.detail = Some(Detail::Nothing);
        problem
    }

    pub(super) fn too_long(path: &str, max: i64) -> Self {
        let text = format!("should be at most {max} chars long");
        let mut problem = Self::at(path, Reason::TooLong, "", text);
        problem.detail = Some(Detail::AtMostBytes(max));
        problem
    }

    pub(super) fn too_many(path: &str, actual: i64, max: i64, text: String) -> Self {
        let mut problem = Self::at(path, Reason::TooMany, actual, text);
        problem.detail = Some(Detail::AtMostItems(max));
        problem
    }

    pub(super) fn unsupported(path: &str, value: Value, allowed: &[Value]) -> Self {
        let list: Vec<_> = allowed.iter().map(crate::schema::go_value).collect();
        let text = format!("should be one of [{}]", list.join(" "));
        let mut problem = Self::at(path, Reason::NotSupported, value, text);
        let allowed = allowed.iter().map(|value| match value {
            Value::String(text) => text.clone(),
            other => go_json(other),
        });
        problem.detail = Some(Detail::OneOf(allowed.collect()));
        problem
    }

    /// The error, in the part of the object at `field`.
    pub(super) fn into_error(self, field: &str) -> FieldError {
        let path = self.path.as_deref().unwrap_or_default();
        let path = path.strip_prefix('.').unwrap_or(path);
        let path = match (field, path) {
            ("", path) => path.to_owned(),
            (field, "") => field.to_owned(),
            (field, path) => format!("{field}.{path}"),
        };
        match self.detail {
            None => FieldError::new(self.reason, path, Some(self.value), self.text),
            Some(Detail::Nothing) => FieldError::new(self.reason, path, Some(self.value), ""),
            Some(Detail::AtMostBytes(max)) => FieldError::too_long(path, max),
            Some(Detail::AtMostItems(max)) => {
                FieldError::too_many(path, self.value.as_i64().unwrap_or(-1), max)
            }
            Some(Detail::OneOf(allowed)) => FieldError::not_supported(path, self.value, &allowed),
        }
    }
}
