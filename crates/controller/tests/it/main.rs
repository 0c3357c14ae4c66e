//! The controller against the embedded API server, in one process and without sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::default_trait_access,
    clippy::match_wild_err_arm,
    reason = "test support"
)]

mod clusters;
mod conflicts;
mod crash_recovery;
mod dependencies;
mod deployed_revision;
mod drift;
mod error_reporting;
mod failures;
mod foreign_operations;
mod harness;
mod leader_election;
mod lifecycle;
mod mirror;
mod model;
mod named_clusters;
mod nested_plugins;
mod permissions;
mod release_records;
mod removal;
mod repository_status;
mod request_counts;
mod scale;
mod silent_servers;
mod slow_charts;
mod status_edits;
mod targets;
mod trust;
mod unhealthy_revisions;
