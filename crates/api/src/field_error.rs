//! Invalid fields of an object.

use std::fmt;

/// An invalid field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field, such as `spec.dependencies[0].version`
    pub field: String,
    pub message: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

#[derive(Default)]
pub(crate) struct FieldErrors {
    pub(crate) list: Vec<FieldError>,
}

impl FieldErrors {
    pub(crate) fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.list.push(FieldError {
            field: field.into(),
            message: message.into(),
        });
    }

    /// Adds an error unless the text is a duration greater than zero.
    pub(crate) fn check_duration(&mut self, field: &str, text: Option<&str>) {
        let Some(text) = text else {
            return;
        };
        match crate::duration::parse(text) {
            Some(timeout) if !timeout.is_zero() => {}
            Some(_) => self.add(field, "must be greater than zero"),
            None => self.add(
                field,
                format!("{text:?} is not a duration such as \"90s\" or \"5m\""),
            ),
        }
    }
}
