//! Fetches charts from HTTP servers in the test process and from disk.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod charts;
mod failures;
mod local;
mod repository;
mod server;
mod tls;
mod wrong_chart;
