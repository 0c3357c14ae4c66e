//! The kinds that Kubernetes has built in, as data and pure functions.
//!
//! [`kinds`] lists them together with those that custom resource definitions add, [`defaults`] completes objects,
//! [`prepare`] sets the fields that the server owns, [`strategy`] has a kind's other hooks, [`validation`]
//! checks the result, [`table`] prints it, [`selector`] selects by labels and fields, and [`protobuf`] decodes request bodies.

pub mod cron;
pub mod defaults;
pub mod kinds;
pub mod prepare;
pub mod protobuf;
pub mod selector;
pub mod strategy;
pub mod table;
pub mod validation;
