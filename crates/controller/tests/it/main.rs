//! The controller on the embedded API server, in one process and without sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::default_trait_access,
    clippy::match_wild_err_arm,
    reason = "helpers of tests"
)]

mod all_in_one;
mod dependencies;
mod drift;
mod harness;
mod kills;
mod lifecycle;
mod mirrors;
mod places;
mod removal;
mod repositories;
mod requests;
mod scale;
mod told;
mod trouble;
