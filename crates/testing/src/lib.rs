//! Support for tests. The `outrigger` binary does not depend on this crate.

pub mod command;
pub mod embedded_api;
pub mod kubernetes;

pub use command::TestContext;
pub use outrigger_peers as peers;
