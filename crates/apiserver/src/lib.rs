//! The embedded Kubernetes API: one process, one file, real clients can't tell.
//!
//! [`server`] puts the parts together: a request is read ([`request`] and [`negotiate`]), its author is known and
//! allowed ([`auth`]), a verb does what it asks ([`verbs`]), and the store keeps it.

pub mod auth;
mod boot;
pub mod defaults;
pub mod discovery;
pub mod gc;
pub mod kinds;
mod lifecycle;
pub mod local;
pub mod merge;
mod negotiate;
pub mod openapi;
pub mod patch;
pub mod prepare;
pub mod protobuf;
mod quantity;
mod request;
pub mod schema;
pub mod selector;
pub mod server;
pub mod simulate;
pub mod status;
pub mod store;
pub mod table;
pub mod transport;
pub mod validation;
mod verbs;
pub mod watch;
