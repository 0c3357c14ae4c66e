//! Releases on the embedded API server in the test process, with simulated workloads.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers fail by panicking"
)]

mod charts;
mod crds;
mod failures;
mod harness;
mod helm3;
mod hooks;
mod large_records;
mod lifecycle;
mod records;
mod request_count;
mod resume;
