//! What kinds there are.

mod names;

pub use names::{GroupKind, GroupResource, GroupVersion};
