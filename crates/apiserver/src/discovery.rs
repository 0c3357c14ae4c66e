//! Discovery: which groups, versions and resources there are, as documents for clients.
//!
//! [`legacy`] documents are asked for one by one; the [`aggregated`] one has everything below `/api` or `/apis`.
//! All are made from a snapshot of the [`Kinds`](outrigger_builtin::kinds::Kinds) and serialize in the order of the real
//! server's fields, so that equal kinds make equal bytes and equal `ETag`s. The document of version `v2beta1` is not
//! made: the real server refuses it since 1.35.

pub mod aggregated;
pub mod legacy;

#[cfg(test)]
mod tests;
