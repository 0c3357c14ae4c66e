//! The whole server: its verbs, its controllers and its transport.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    reason = "a test ends where something is missing"
)]

mod controllers;
mod server;
mod transport;
