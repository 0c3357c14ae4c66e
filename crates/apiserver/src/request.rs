//! What a request asks for, read from its method, path and query alone.
//!
//! Pure: nothing here knows the store or who asks. A path is read as the real server reads it for authorization,
//! so that a request is refused before anything else is told about it.

mod list_options;
mod options;
mod path;
mod query;

pub(crate) use list_options::{ListOptions, Match};
pub(crate) use options::{
    DeleteOptions, FieldValidation, Propagation, WriteOptions, manager_or_agent, parse_revision,
};
pub(crate) use path::{Endpoint, Place};
pub(crate) use query::Query;

#[cfg(test)]
mod tests;
