//! Errors about one field of an object, in the words of a real server.

use std::fmt;

use serde_json::Value;

use super::{go_json, go_quote};

/// What is wrong, as the `reason` of a Status cause names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Duplicate,
    Forbidden,
    Internal,
    Invalid,
    NotSupported,
    Required,
    TooFew,
    TooLong,
    TooMany,
    TypeInvalid,
}

impl Reason {
    /// The name in a Status cause.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::Internal => "InternalError",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Required => "FieldValueRequired",
            Self::TooFew => "FieldValueTooFew",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::Internal => "Internal error",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Required => "Required value",
            Self::TooFew => "Too few",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal
        )
    }
}

/// One error about one field. Prints as `spec.replicas: Invalid value: -1: must not be negative`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    pub reason: Reason,
    /// The path of the field; `<nil>` if the error is about no field.
    pub field: String,
    /// The value to show, if any is.
    pub value: Option<Value>,
    pub detail: String,
}

impl FieldError {
    pub fn new(
        reason: Reason,
        field: impl Into<String>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        let field = field.into();
        Self {
            reason,
            field: if field.is_empty() {
                "<nil>".to_owned()
            } else {
                field
            },
            value,
            detail: detail.into(),
        }
    }

    pub fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(Reason::Invalid, field, Some(value.into()), detail)
    }

    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Reason::Required, field, None, detail)
    }

    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Reason::Forbidden, field, None, detail)
    }

    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(Reason::Duplicate, field, Some(value.into()), "")
    }

    pub fn not_supported(
        field: impl Into<String>,
        value: impl Into<Value>,
        supported: &[String],
    ) -> Self {
        let supported: Vec<_> = supported.iter().map(|value| go_quote(value)).collect();
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        Self::new(Reason::NotSupported, field, Some(value.into()), detail)
    }

    pub fn too_long(field: impl Into<String>, max: i64) -> Self {
        let (unit, max) = (if max == 1 { "byte" } else { "bytes" }, max);
        Self::new(
            Reason::TooLong,
            field,
            None,
            format!("may not be more than {max} {unit}"),
        )
    }

    pub fn too_many(field: impl Into<String>, actual: i64, max: i64) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {items}");
        Self::new(Reason::TooMany, field, Some(actual.into()), detail)
    }

    /// The error without its field, as a Status cause shows it.
    pub fn body(&self) -> String {
        let mut body = self.reason.text().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.reason.shows_value()) {
            let value = match value {
                Value::String(text) => go_quote(text),
                Value::Number(_) => super::go_value(value),
                other => go_json(other),
            };
            body.push_str(&format!(": {value}"));
        }
        if !self.detail.is_empty() {
            body.push_str(&format!(": {}", self.detail));
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// All errors as the message of a Status joins them: repeated ones once, several in brackets.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
