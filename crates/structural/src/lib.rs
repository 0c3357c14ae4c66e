//! Operations on objects that depend on their schema: structural schemas with pruning, defaulting and CEL validation
//! rules ([`schema`]), server-side apply ([`merge`]), JSON, merge and strategic merge patches ([`patch`]),
//! and the Go types of built-in objects ([`go_types`]).
//!
//! Pure functions over JSON values, independent of stores and requests.

pub mod depth;
pub mod go_types;
pub mod merge;
pub mod patch;
pub mod schema;
