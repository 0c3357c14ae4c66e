//! Tests of the whole crate, with the results of both Helm versions.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

mod archive;
mod folder;
mod golden;
mod render;
mod tar_headers;
