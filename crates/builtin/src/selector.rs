//! Label and field selectors.
//!
//! [`LabelSelector`] parses the query syntax and the selectors of objects; [`FieldSelector`] parses the query syntax with
//! the field labels of a kind. Errors have the messages of kube-apiserver and become 400 responses.

mod field;
mod label;
mod tokens;

pub use field::FieldSelector;
pub use label::{LabelSelector, Operator, Requirement};

use outrigger_apimachinery::status::Status;

/// An invalid selector, with the message of kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Self::bad_request(error.0)
    }
}

#[cfg(test)]
mod tests;
