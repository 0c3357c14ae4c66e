//! What tests share. Only tests and tasks use this crate; nothing in it reaches the binary.

pub mod command;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
pub mod peers;

pub use command::TestContext;
