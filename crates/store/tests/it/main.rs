//! The store under kill -9.
#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test ends where something is missing"
)]

mod crash;
