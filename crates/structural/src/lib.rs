//! Objects by their schema: structural schemas with pruning, defaulting and CEL rules ([`schema`]), server-side apply
//! with field ownership ([`merge`]), and JSON, merge and strategic merge patches ([`patch`]).
//!
//! Pure functions over JSON values; nothing here knows a store or a request.

pub mod merge;
pub mod patch;
pub mod schema;
