//! Objects by their schema: structural schemas with pruning, defaulting and CEL rules ([`schema`]), server-side apply
//! with field ownership ([`merge`]), JSON, merge and strategic merge patches ([`patch`]), and the Go types of built-in
//! objects ([`go_types`]).
//!
//! Pure functions over JSON values; nothing here knows a store or a request.

pub mod go_types;
pub mod merge;
pub mod patch;
pub mod schema;
