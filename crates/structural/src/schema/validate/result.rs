//! The result of validating a value, before it becomes field errors.

use outrigger_apimachinery::status::field::{self, ErrorType};
use outrigger_gostd::json::marshal;
use serde_json::Value;

use crate::schema::field_error;

/// The errors of a value, and the number of validations that it passed.
#[derive(Debug, Default)]
pub(super) struct ValidationResult {
    pub(super) errors: Vec<ValidationError>,
    /// Decides which branch of `anyOf` and `oneOf` is reported.
    pub(super) matches: usize,
}

impl ValidationResult {
    pub(super) fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Adds an error, unless there is one with the same message.
    pub(super) fn add(&mut self, error: ValidationError) {
        if self
            .errors
            .iter()
            .all(|other| other.message != error.message)
        {
            self.errors.push(error);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        other.errors.into_iter().for_each(|error| self.add(error));
    }
}

/// An error of go-openapi's validator.
#[derive(Debug)]
pub(super) struct ValidationError {
    /// `None` if the error is not about a single field.
    path: Option<String>,
    error_type: ErrorType,
    value: Value,
    /// The message of go-openapi, which identifies the error.
    message: String,
    /// The detail of the field error, if it is not the message.
    detail: Option<Detail>,
}

#[derive(Debug)]
enum Detail {
    Empty,
    MaxLength(i64),
    MaxItems(i64),
    Supported(Vec<String>),
}

impl ValidationError {
    /// An error with exactly this message.
    pub(super) fn with_message(
        path: &str,
        error_type: ErrorType,
        value: impl Into<Value>,
        message: String,
    ) -> Self {
        Self {
            path: Some(path.to_owned()),
            error_type,
            value: value.into(),
            message,
            detail: None,
        }
    }

    /// An error that is not about a single field.
    pub(super) fn general(message: String) -> Self {
        Self {
            path: None,
            ..Self::with_message("", ErrorType::Invalid, "", message)
        }
    }

    /// An error whose message starts with the path.
    pub(super) fn at(
        path: &str,
        error_type: ErrorType,
        value: impl Into<Value>,
        message: impl AsRef<str>,
    ) -> Self {
        let message = format!("{path} in body {}", message.as_ref());
        Self::with_message(path, error_type, value, message)
    }

    pub(super) fn required(path: &str) -> Self {
        Self {
            detail: Some(Detail::Empty),
            ..Self::at(path, ErrorType::Required, "", "is required")
        }
    }

    pub(super) fn too_long(path: &str, max: i64) -> Self {
        let message = format!("should be at most {max} chars long");
        Self {
            detail: Some(Detail::MaxLength(max)),
            ..Self::at(path, ErrorType::TooLong, "", message)
        }
    }

    pub(super) fn too_many(path: &str, actual: i64, max: i64, message: &str) -> Self {
        Self {
            detail: Some(Detail::MaxItems(max)),
            ..Self::at(path, ErrorType::TooMany, actual, message)
        }
    }

    pub(super) fn not_supported(path: &str, value: Value, supported: &[Value]) -> Self {
        let list: Vec<_> = supported
            .iter()
            .map(outrigger_gostd::fmt::sprint_json)
            .collect();
        let message = format!("should be one of [{}]", list.join(" "));
        let supported = supported.iter().map(|value| match value {
            Value::String(text) => text.clone(),
            other => marshal(other),
        });
        Self {
            detail: Some(Detail::Supported(supported.collect())),
            ..Self::at(path, ErrorType::NotSupported, value, message)
        }
    }

    /// The field error for a value at `field`.
    pub(super) fn into_field_error(self, field: &str) -> field::Error {
        let path = self.path.as_deref().unwrap_or_default();
        let path = path.strip_prefix('.').unwrap_or(path);
        let path = match (field, path) {
            ("", path) => path.to_owned(),
            (field, "") => field.to_owned(),
            (field, path) => format!("{field}.{path}"),
        };
        match self.detail {
            None => field_error::new(self.error_type, path, Some(&self.value), self.message),
            Some(Detail::Empty) => field_error::new(self.error_type, path, Some(&self.value), ""),
            Some(Detail::MaxLength(max)) => field::Error::too_long(path, max),
            Some(Detail::MaxItems(max)) => {
                field::Error::too_many(path, self.value.as_i64().unwrap_or(-1), max)
            }
            Some(Detail::Supported(supported)) => {
                let supported: Vec<&str> = supported.iter().map(String::as_str).collect();
                field_error::not_supported(path, self.value, &supported)
            }
        }
    }
}
