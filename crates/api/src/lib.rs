//! The kinds that users write, as Rust types and as definitions for the API server.
//!
//! Everything here is pure: no client, no file system, no clock.

pub mod annotation;
pub mod compat;
pub mod condition;
pub mod definition;
pub mod duration;
mod nearest;
mod pattern;
pub mod plugin;
pub mod repository;
pub mod values;

pub use definition::definitions;

/// The API group of all kinds.
pub const GROUP: &str = "outrigger.dev";

/// The version that is served and stored.
pub const VERSION: &str = "v1beta1";
