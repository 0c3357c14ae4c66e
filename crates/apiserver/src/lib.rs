//! The embedded Kubernetes API: one process, one file, real clients can't tell.
//!
//! The parts are here and tested on their own; no server puts them together yet.

pub mod auth;
pub mod defaults;
pub mod discovery;
pub mod gc;
pub mod kinds;
pub mod local;
pub mod merge;
pub mod openapi;
pub mod patch;
pub mod prepare;
pub mod protobuf;
pub mod schema;
pub mod selector;
pub mod simulate;
pub mod status;
pub mod store;
pub mod table;
pub mod validation;
pub mod watch;
