//! The embedded Kubernetes API: one process, one file, real clients can't tell.

pub mod defaults;
pub mod discovery;
pub mod kinds;
pub mod openapi;
pub mod prepare;
pub mod selector;
pub mod status;
pub mod table;
pub mod validation;
