//! The installer: crash tests on stand-in machines, and a benchmark of large packages.

pub(crate) mod bench;
pub(crate) mod crash;
mod package;
mod state;
