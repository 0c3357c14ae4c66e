//! The store under kill -9.
#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    reason = "a test ends where something is missing"
)]

mod crash;
