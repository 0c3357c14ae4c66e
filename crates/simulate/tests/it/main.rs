//! Simulated workloads in an embedded server.
#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod workloads;
