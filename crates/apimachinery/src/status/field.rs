//! Errors about single fields, after `k8s.io/apimachinery/pkg/util/validation/field`.

use std::fmt;

use outrigger_gostd::json;
use serde_json::Value;

pub use outrigger_gostd::strconv::quote;

/// The path of a field. Paths borrow their parents, so that building one costs nothing until an error is formatted.
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

/// A field, as a path or formatted.
pub trait IntoField {
    fn into_field(self) -> String;
}

impl IntoField for &Path<'_> {
    fn into_field(self) -> String {
        self.to_string()
    }
}

impl IntoField for &str {
    fn into_field(self) -> String {
        self.to_owned()
    }
}

impl IntoField for String {
    fn into_field(self) -> String {
        self
    }
}

/// `field.ErrorType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorType {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    TypeInvalid,
    Internal,
}

impl ErrorType {
    /// The `reason` of a status cause.
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
            Self::Internal => "InternalError",
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
            Self::Internal => "Internal error",
        }
    }

    const fn shows_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal
        )
    }
}

/// The rejected value, formatted for the message.
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
    /// A value that is already formatted.
    pub fn verbatim(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// `field.Error`. Displays as `spec.replicas: Invalid value: -1: must not be negative`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub type_: ErrorType,
    /// The path; `<nil>` if the error is not about a field.
    pub field: String,
    pub value: Option<BadValue>,
    pub detail: String,
}

impl Error {
    pub fn required(field: impl IntoField, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, field, None, detail)
    }

    pub fn forbidden(field: impl IntoField, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, field, None, detail)
    }

    pub fn invalid(
        field: impl IntoField,
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorType::Invalid, field, Some(value.into()), detail)
    }

    /// Like [`Error::invalid`], with `field.OmitValueType`.
    pub fn invalid_omitting_value(field: impl IntoField, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, field, None, detail)
    }

    pub fn duplicate(field: impl IntoField, value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::Duplicate, field, Some(value.into()), "")
    }

    pub fn not_found(field: impl IntoField, value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::NotFound, field, Some(value.into()), "")
    }

    /// Lists the supported values in the given order.
    pub fn not_supported(
        field: impl IntoField,
        value: impl Into<BadValue>,
        supported: &[&str],
    ) -> Self {
        let supported: Vec<_> = supported.iter().map(|value| quote(value)).collect();
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        Self::new(ErrorType::NotSupported, field, Some(value.into()), detail)
    }

    pub fn too_long(field: impl IntoField, max: impl fmt::Display) -> Self {
        let detail = format!("may not be more than {}", count(max, "byte"));
        Self::new(ErrorType::TooLong, field, None, detail)
    }

    pub fn too_many(
        field: impl IntoField,
        actual: impl fmt::Display,
        max: impl fmt::Display,
    ) -> Self {
        let detail = format!("must have at most {}", count(max, "item"));
        let value = BadValue::verbatim(actual.to_string());
        Self::new(ErrorType::TooMany, field, Some(value), detail)
    }

    /// The value is omitted where the type of error never shows one.
    pub fn new(
        type_: ErrorType,
        field: impl IntoField,
        value: Option<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        let mut field = field.into_field();
        if field.is_empty() {
            field.push_str("<nil>");
        }
        Self {
            type_,
            field,
            value: value.filter(|_| type_.shows_value()),
            detail: detail.into(),
        }
    }

    /// `ErrorBody`: the message without the field.
    pub fn body(&self) -> String {
        let mut body = self.type_.text().to_owned();
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

/// `1 item`, `2 items`.
fn count(number: impl fmt::Display, unit: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

/// `ErrorList.ToAggregate`: joins the distinct messages, in brackets if there are several.
pub fn to_aggregate(errors: &[Error]) -> String {
    let mut messages: Vec<String> = Vec::new();
    for error in errors {
        let message = error.to_string();
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    match messages.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_paths_with_dots_and_brackets() {
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
    fn formats_values_as_go_does() {
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
    fn omits_values_that_are_too_long() {
        let error = Error::too_long(&Path::root("metadata").child("name"), 63);
        assert_eq!(
            error.to_string(),
            "metadata.name: Too long: may not be more than 63 bytes"
        );
    }
}
