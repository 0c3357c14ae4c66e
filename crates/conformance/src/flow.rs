//! Flows of clusters on machines with real SSH servers.

pub(crate) mod crash;
mod faults;
mod markers;
