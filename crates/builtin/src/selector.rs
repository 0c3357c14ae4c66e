//! Selectors: which objects a list, a watch or a deletion is about.
//!
//! [`LabelSelector`] reads the grammar of `labelSelector` and the `selector` of objects; [`FieldSelector`] reads
//! `fieldSelector` against what a kind lets clients select by. Errors have the real server's texts and are all
//! answered with 400.

mod field;
mod label;
mod tokens;

pub use field::FieldSelector;
pub use label::{LabelSelector, Operator, Requirement};

use outrigger_apimachinery::status::Status;

/// A selector that cannot be used. Displays as the real server's message.
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
