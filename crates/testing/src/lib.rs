//! Support for tests and developer tasks. Nothing in this crate reaches the binary.

pub mod command;
#[cfg(feature = "embedded-api")]
pub mod embedded_api;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
pub mod peers;

pub use command::TestContext;
