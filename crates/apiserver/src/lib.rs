//! The embedded Kubernetes API server: one process, one file, real clients can't tell.
//!
//! [`server`] puts the parts together: a request is read ([`request`] and [`negotiate`]), authenticated and authorized
//! ([`auth`]), handled by its verb ([`verbs`]), and stored.

pub mod auth;
mod boot;
pub mod discovery;
pub mod gc;
mod lifecycle;
pub mod local;
mod negotiate;
pub mod openapi;
mod request;
pub mod server;
pub mod transport;
mod verbs;
