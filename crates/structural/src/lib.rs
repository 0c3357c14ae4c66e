//! Operations on objects that depend on their schema: structural schemas with pruning, defaulting and CEL validation
//! rules ([`schema`]), server-side apply ([`merge`]), and JSON, merge and strategic merge patches ([`patch`]).
//!
//! Pure functions over JSON values, independent of stores and requests.

pub mod merge;
pub mod patch;
pub mod schema;
