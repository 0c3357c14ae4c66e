//! The embedded Kubernetes API: one process, one file, real clients can't tell.

pub mod merge;
pub mod patch;
pub mod schema;
