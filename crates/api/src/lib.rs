//! The kinds that users write, as Rust types and as definitions for the API server.

pub mod condition;
pub mod plugin;
pub mod repository;

/// The API group of all kinds.
pub const GROUP: &str = "outrigger.dev";

/// The version that is served and stored.
pub const VERSION: &str = "v1beta1";
