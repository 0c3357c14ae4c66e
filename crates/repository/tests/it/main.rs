//! Charts from real servers in this process, honest ones and others, and from disk.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod charts;
mod disk;
mod repository;
mod server;
mod tls;
mod trouble;
