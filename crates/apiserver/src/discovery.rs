//! Discovery documents.
//!
//! [`legacy`] has one document for each group and version, [`aggregated`] one for everything below `/api` or `/apis`.
//! Documents are built from a snapshot of the [`Kinds`](outrigger_builtin::kinds::Kinds) in the field order of the real
//! server, so that equal kinds give equal bytes and `ETag`s. Version `v2beta1` is not supported, like in the real server
//! since 1.35.

pub mod aggregated;
pub mod legacy;

#[cfg(test)]
mod tests;
