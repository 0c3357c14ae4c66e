//! The built-in kinds of Kubernetes, as data and pure functions.
//!
//! Each kind has a module in the module of its group, such as `apps::daemon_set`, with its defaults, validation and table
//! cells. [`defaults`], [`validation`] and [`table`] dispatch to them, [`prepare`] has what a strategy does before a
//! write, [`strategy`] its other hooks, [`kinds`] is the registry of built-in kinds and custom resources, and [`selector`]
//! has label and field selectors.

// Clients choose the operands: overflow must be handled, not panic.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

pub mod admissionregistration;
mod apiextensions;
pub mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
pub mod cron;
pub mod defaults;
mod discovery;
pub mod fields;
pub mod kinds;
mod networking;
mod policy;
pub mod prepare;
mod rbac;
#[cfg(test)]
mod recorded;
mod scheduling;
pub mod selector;
mod storage;
pub mod strategy;
pub mod table;
pub mod validation;
pub mod warnings;
