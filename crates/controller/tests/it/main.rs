//! The controller against the embedded API server, in one process and without sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::default_trait_access,
    clippy::match_wild_err_arm,
    reason = "test support"
)]

mod crash_recovery;
mod dependencies;
mod drift;
mod error_reporting;
mod failures;
mod harness;
mod leader_election;
mod lifecycle;
mod mirror;
mod nested_plugins;
mod removal;
mod repository_status;
mod request_counts;
mod scale;
mod slow_charts;
mod targets;
