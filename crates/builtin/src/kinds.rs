//! What kinds there are, as data: no request handler knows a kind by name.
//!
//! [`Registry`] holds the built-in kinds and those that custom resource definitions add; readers take a cheap
//! snapshot, [`Kinds`]. A [`Kind`] is one served version and says all that the generic request path must know.
//! Some kinds are served in a version that is not the stored one; [`convert`] turns one into the other.

mod acceptance;
mod builtin;
mod builtin_fields;
pub mod convert;
mod definition;
mod kind;
mod registry;
pub mod version_order;

pub use kind::{
    Custom, Deletion, Kind, NAME_PREFIX, PrinterColumn, Scale, SelectableField, Storage,
    Subresource, Writes,
};
pub use registry::{Group, Kinds, Registry, Version};

#[cfg(test)]
mod tests;
