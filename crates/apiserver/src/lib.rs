//! The embedded Kubernetes API server: one process, one file.
//!
//! [`server`] connects the parts: a request is parsed ([`request`] and [`negotiation`]), authenticated and authorized
//! ([`auth`]), handled by its verb ([`verbs`]), and stored.

// Clients choose the operands: overflow must be handled, not panic.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

pub mod auth;
mod bootstrap;
mod controllers;
pub mod discovery;
mod flow_control;
pub mod gc;
pub mod loopback;
mod negotiation;
pub mod panics;
mod request;
pub mod server;
pub mod transport;
mod verbs;
