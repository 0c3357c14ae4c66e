//! Our API kinds as Rust types and as custom resource definitions, and conversions from foreign kinds.
//!
//! Everything is pure: no client, no file system, no clock.

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
