//! Errors about single fields of an object, as validation reports them.

use std::fmt;

use outrigger_gostd::json;
use serde_json::Value;

pub use outrigger_gostd::strconv::quote;

/// Where a field is. Paths borrow their parents, so that building one costs nothing until an error is written.
#[must_use]
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    pub const fn root(name: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Name(name),
        }
    }

    pub const fn child(&'a self, name: &'a str) -> Self {
        self.step(Step::Name(name))
    }

    pub const fn index(&'a self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    pub const fn key(&'a self, key: &'a str) -> Self {
        self.step(Step::Key(key))
    }

    const fn step(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}")?;
        }
        match self.step {
            Step::Name(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Name(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    TypeInvalid,
}

impl Problem {
    /// The `reason` of the cause.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

/// The value that was refused, as it is written into the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadValue(String);

impl From<&str> for BadValue {
    fn from(text: &str) -> Self {
        Self(quote(text))
    }
}

impl From<i64> for BadValue {
    fn from(number: i64) -> Self {
        Self(number.to_string())
    }
}

impl From<bool> for BadValue {
    fn from(flag: bool) -> Self {
        Self(flag.to_string())
    }
}

impl From<&Value> for BadValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self(quote(text)),
            other => Self(json::marshal(other)),
        }
    }
}

impl BadValue {
    /// A value whose text is known already.
    pub fn verbatim(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// One error about one field. Displays as `field: Problem: value: detail`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub problem: Problem,
    pub field: String,
    pub value: Option<BadValue>,
    pub detail: String,
}

impl Error {
    pub fn required(field: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(Problem::Required, field, None, detail)
    }

    pub fn forbidden(field: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(Problem::Forbidden, field, None, detail)
    }

    pub fn invalid(
        field: &Path<'_>,
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(Problem::Invalid, field, Some(value.into()), detail)
    }

    /// A value that is wrong and not worth showing.
    pub fn invalid_unshown(field: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(Problem::Invalid, field, None, detail)
    }

    pub fn duplicate(field: &Path<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(Problem::Duplicate, field, Some(value.into()), "")
    }

    pub fn not_found(field: &Path<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(Problem::NotFound, field, Some(value.into()), "")
    }

    /// A value that is none of the supported ones, which are listed as given.
    pub fn not_supported(field: &Path<'_>, value: impl Into<BadValue>, supported: &[&str]) -> Self {
        let supported: Vec<_> = supported.iter().map(|value| quote(value)).collect();
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        Self::new(Problem::NotSupported, field, Some(value.into()), detail)
    }

    pub fn too_long(field: &Path<'_>, most: usize) -> Self {
        let unit = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {unit}");
        Self::new(Problem::TooLong, field, None, detail)
    }

    pub fn too_many(field: &Path<'_>, count: usize, most: usize) -> Self {
        let unit = if most == 1 { "item" } else { "items" };
        let detail = format!("must have at most {most} {unit}");
        let value = BadValue::verbatim(count.to_string());
        Self::new(Problem::TooMany, field, Some(value), detail)
    }

    fn new(
        problem: Problem,
        field: &Path<'_>,
        value: Option<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            problem,
            field: field.to_string(),
            value,
            detail: detail.into(),
        }
    }

    /// The message without the field.
    pub fn body(&self) -> String {
        let mut body = self.problem.text().to_owned();
        if let Some(BadValue(value)) = &self.value {
            body.push_str(": ");
            body.push_str(value);
        }
        if !self.detail.is_empty() {
            body.push_str(": ");
            body.push_str(&self.detail);
        }
        body
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_written_with_dots_and_brackets() {
        let spec = Path::root("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        let limits = first.child("limits");
        assert_eq!(
            limits.key("cpu").to_string(),
            "spec.containers[0].limits[cpu]"
        );
    }

    #[test]
    fn values_are_written_as_go_writes_them() {
        let path = Path::root("x");
        let body = |value: BadValue| Error::invalid(&path, value, "no").body();
        assert_eq!(body("a\"\u{1}".into()), r#"Invalid value: "a\"\x01": no"#);
        assert_eq!(body((-1).into()), "Invalid value: -1: no");
        assert_eq!(
            body((&json!({"b": "<", "a": 1})).into()),
            r#"Invalid value: {"a":1,"b":"\u003c"}: no"#
        );
    }

    #[test]
    fn long_values_are_not_repeated() {
        let error = Error::too_long(&Path::root("metadata").child("name"), 63);
        assert_eq!(
            error.to_string(),
            "metadata.name: Too long: may not be more than 63 bytes"
        );
    }
}
