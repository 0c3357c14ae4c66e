//! Tests of the whole crate: charts in, what both Helms printed out.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

mod archive;
mod golden;
