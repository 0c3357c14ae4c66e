//! The embedded Kubernetes API: one process, one file, real clients can't tell.

pub mod store;
pub mod watch;
pub mod protobuf;
pub mod merge;
pub mod patch;
pub mod schema;
pub mod defaults;
pub mod discovery;
pub mod kinds;
pub mod prepare;
pub mod selector;
pub mod status;
pub mod table;
pub mod validation;
