//! Releases on the embedded API server, in process: no sockets, workloads simulated.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in tests a surprise is a failure"
)]

mod adoption;
mod charts;
mod cost;
mod hooks;
mod large;
mod lifecycle;
mod stage;
mod takeover;
mod trouble;
