//! The served kinds, as data.
//!
//! [`Registry`] holds the built-in kinds and those of `CustomResourceDefinitions`; readers take a cheap snapshot,
//! [`Kinds`]. A [`Kind`] is one served version of a kind, with all that the generic request path needs. [`convert`]
//! converts between served and stored versions.

mod acceptance;
mod builtin;
mod builtin_fields;
pub mod convert;
mod definition;
mod kind;
mod registry;
pub mod version_order;

pub use builtin::is_builtin;
pub use kind::{
    Custom, Deletion, Kind, NAME_PREFIX, PrinterColumn, Scale, SelectableField, Storage,
    Subresource, Writes,
};
pub use registry::{Group, Kinds, Registry, Version};

#[cfg(test)]
mod tests;
