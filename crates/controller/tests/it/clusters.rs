//! Clusters and machines: flows, hooks, delegation, conflicts, and what happens when anything changes in the middle.

mod certificates;
mod changes;
mod delegation;
mod fixture;
mod hooks;
mod identity;
mod interference;
mod preflight;
mod records;
mod recovery;
mod registries;
mod restore;
