//! Clusters on machines with real SSH servers. They need root rights.

mod delegation;
mod example;
pub(crate) mod fixture;
mod hooks;
mod interrupted;
pub(crate) mod tkestack;
mod unlucky;
