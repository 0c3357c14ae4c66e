//! The controller on the embedded API server, in one process and without sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod all_in_one;
mod charts;
mod dependencies;
mod drift;
mod lifecycle;
mod places;
mod removal;
mod requests;
mod stage;
mod trouble;
