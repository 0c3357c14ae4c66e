//! Requests: request info, query parameters and options, parsed from method, path and query.
//!
//! Pure. The request info is that of the real server, so that authorization decides before anything else is revealed.

mod go_duration;
mod list_options;
mod options;
mod query;
mod request_info;

pub(crate) use go_duration::go_seconds;
pub(crate) use list_options::{ListOptions, Match};
pub(crate) use options::{
    DeleteOptions, FieldValidation, Propagation, WriteOptions, manager_or_agent, parse_revision,
};
pub(crate) use query::Query;
pub(crate) use request_info::{Endpoint, RequestInfo};

#[cfg(test)]
mod tests;
