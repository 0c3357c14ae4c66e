//! What every part of the embedded Kubernetes API shares, named after Kubernetes' own apimachinery.
//!
//! [`status`] holds API errors and field errors in the API server's words, [`quantity`] resource quantities, [`syntax`]
//! the syntax of names, labels and keys. Nothing here knows a kind, a store or a request.

mod group;
pub mod quantity;
pub mod status;
pub mod syntax;

pub use group::{GroupKind, GroupResource, GroupVersion};
