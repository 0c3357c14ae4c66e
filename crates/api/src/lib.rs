//! Our API kinds as Rust types and as custom resource definitions, and conversions from foreign kinds.
//!
//! Everything is pure: no client, no file system, no clock.

pub mod annotation;
pub mod cluster;
pub mod compat;
pub mod condition;
pub mod definition;
pub mod duration;
mod field_error;
pub mod flow_status;
pub mod hook;
pub mod installation;
pub mod machine;
mod pattern;
pub mod permissions;
pub mod plugin;
pub mod reason;
mod redacted_bytes;
pub mod reference;
pub mod repository;
pub mod step;
pub mod values;

pub use definition::definitions;
pub use field_error::FieldError;
pub use redacted_bytes::RedactedBytes;

/// The API group of all kinds.
pub const GROUP: &str = "outrigger.dev";

/// The version that is served and stored.
pub const VERSION: &str = "v1beta1";
