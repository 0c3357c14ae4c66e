//! The plugin controller next to Helm.

pub(crate) mod attack;
pub(crate) mod bench;
pub(crate) mod catalog;
mod chart;
mod cluster;
pub(crate) mod compare;
pub(crate) mod crash;
mod desired;
mod plugin_client;

pub(crate) use plugin_client::wait_until_served;
