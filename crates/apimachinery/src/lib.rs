//! Basic types of the Kubernetes API, after `k8s.io/apimachinery`.
//!
//! [`status`] has `Status` and field errors with the messages of kube-apiserver, [`quantity`] resource quantities,
//! [`syntax`] the syntax of names, labels and keys, [`json_path`] the templates of printer columns and of client
//! tools. Nothing here depends on a kind, a store or a request.

mod group;
pub mod json_path;
pub mod nearest;
pub mod quantity;
pub mod status;
pub mod syntax;

pub use group::{GroupKind, GroupResource, GroupVersion};
