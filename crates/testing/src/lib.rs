//! Support for tests. The `outrigger` binary does not depend on this crate.

pub mod command;
pub mod embedded_api;
pub mod fake_machines;
pub mod kubernetes;
pub mod lab;
mod loopback;
pub mod machines;
pub mod registries;
mod supervisor;

pub use command::TestContext;
pub use outrigger_peers as peers;
