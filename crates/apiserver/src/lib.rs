//! The embedded Kubernetes API: one process, one file, real clients can't tell.

pub mod discovery;
pub mod kinds;
pub mod selector;
pub mod status;
pub mod validation;
