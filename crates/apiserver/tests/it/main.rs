//! The embedded API from outside: what needs a process of its own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test helpers"
)]

mod crash;
