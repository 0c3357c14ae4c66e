//! The registry and the client of `outrigger-oci` against each other, with and without faults between them.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod charts;
mod copy;
mod fault;
mod requests;
mod server;
mod trust;
