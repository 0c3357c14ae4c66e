//! The installer: crash tests on stand-in machines.

pub(crate) mod crash;
mod package;
mod state;
