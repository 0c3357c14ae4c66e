//! The schema of a kind: one tree for server-side apply, strategic merge patch, pruning, defaulting, validation and
//! strict field validation.
//!
//! A [`Schema`] is parsed from a `CustomResourceDefinition` ([`Schema::structural`]) or from the OpenAPI definitions of a
//! built-in kind ([`builtin::schema`]). It is an arena of nodes behind an [`Arc`], so that types can be recursive and
//! clones are cheap. Functions that walk a schema pass a [`SchemaRef`], a node with its arena.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use outrigger_gostd::regexp::CachedRegexp;
use serde_json::Value;

pub mod builtin;
mod custom_resource;
mod default;
mod definition;
mod object_meta;
mod parse;
mod prune;
mod rules;
pub mod strict;
mod validate;
pub mod value;

pub use crate::go_types::DecodeError;
pub use custom_resource::coerce;
pub use custom_resource::normalize;
pub use default::apply_defaults;
pub use definition::validate_definition;
pub use parse::{Error, MAX_DEPTH};
pub use prune::{prune_nulls, prune_unknown};
pub use rules::validate_rules;
pub use validate::formats::is_recognized_format;
pub use validate::{
    validate_custom_resource, validate_custom_resource_status, validate_embedded_resources,
    validate_list_uniqueness, validate_schema, validate_schema_at,
};

/// The schema of one version of one kind.
#[derive(Debug, Clone)]
pub struct Schema {
    nodes: Arc<[Node]>,
    root: NodeId,
}

impl Schema {
    pub fn root(&self) -> SchemaRef<'_> {
        SchemaRef {
            nodes: &self.nodes,
            id: self.root,
        }
    }
}

/// The index of a node in its arena.
pub type NodeId = usize;

/// `__untyped_atomic_`: any value, with atomic lists and maps.
pub const UNTYPED_ATOMIC: NodeId = 0;
/// `__untyped_deduced_`: any value, with atomic lists and granular maps.
pub const UNTYPED_DEDUCED: NodeId = 1;
/// A string, the type of `apiVersion` and `kind`.
pub const STRING: NodeId = 2;
/// `ObjectMeta`.
pub const OBJECT_META: NodeId = 3;

/// The JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Type {
    /// Any value.
    #[default]
    Any,
    /// Any value that is neither a list nor a map.
    Scalar,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// `additionalProperties`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AdditionalProperties {
    #[default]
    Unspecified,
    Allowed,
    Forbidden,
    Schema(NodeId),
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    /// With `x-kubernetes-list-map-keys`.
    Map(Vec<ListKey>),
}

/// One of `x-kubernetes-list-map-keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListKey {
    pub name: String,
    /// Identifies items that omit the key.
    pub default: Option<Value>,
}

/// `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchMeta {
    /// Lists are merged instead of replaced.
    pub merge: bool,
    /// Objects are replaced instead of merged.
    pub replace: bool,
    pub merge_key: Option<String>,
}

/// One node of a schema.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate field of JSONSchemaProps"
)]
pub struct Node {
    /// The name of the OpenAPI definition, for built-in types.
    pub name: Option<Arc<str>>,
    pub type_: Type,
    pub format: String,
    pub nullable: bool,
    pub default: Option<Value>,
    pub list_type: ListType,
    pub atomic_map: bool,
    pub preserve_unknown_fields: bool,
    /// This node or one of its ancestors preserves unknown fields.
    pub inherits_preserve_unknown_fields: bool,
    pub embedded_resource: bool,
    pub int_or_string: bool,
    /// The object implicitly has `apiVersion`, `kind` and `metadata`.
    pub is_resource: bool,
    pub patch: PatchMeta,
    pub properties: BTreeMap<String, NodeId>,
    pub additional: AdditionalProperties,
    pub items: Option<NodeId>,
    pub value_validation: Option<Box<ValueValidation>>,
    /// `x-kubernetes-validations`
    pub validations: Vec<ValidationRule>,
    /// The compiled validations.
    pub rules: rules::NodeRules,
}

/// `structuralschema.ValueValidation`: constraints beyond the type.
#[derive(Debug, Clone, Default)]
pub struct ValueValidation {
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub multiple_of: Option<f64>,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: Option<Pattern>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<String>,
    pub enum_: Vec<Value>,
    pub all_of: Vec<NodeId>,
    pub any_of: Vec<NodeId>,
    pub one_of: Vec<NodeId>,
    pub not: Option<NodeId>,
}

/// A `pattern` with its regular expression.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub text: String,
    pub regex: CachedRegexp,
}

/// One of `x-kubernetes-validations`.
#[derive(Debug, Clone, Default)]
pub struct ValidationRule {
    pub expression: String,
    pub message: String,
    pub message_expression: String,
    pub reason: Option<String>,
    pub field_path: String,
    pub optional_old_self: bool,
}

/// A node with its arena.
#[derive(Debug, Clone, Copy)]
pub struct SchemaRef<'a> {
    nodes: &'a [Node],
    id: NodeId,
}

impl Deref for SchemaRef<'_> {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.nodes[self.id]
    }
}

impl<'a> SchemaRef<'a> {
    #[must_use]
    pub fn at(self, id: NodeId) -> Self {
        Self {
            nodes: self.nodes,
            id,
        }
    }

    pub fn node(self) -> &'a Node {
        &self.nodes[self.id]
    }

    /// The schema of a declared property.
    pub fn property(self, name: &str) -> Option<Self> {
        self.node().properties.get(name).map(|id| self.at(*id))
    }

    /// All declared properties.
    pub fn properties(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.node()
            .properties
            .iter()
            .map(move |(name, id)| (name.as_str(), self.at(*id)))
    }

    /// The schema of `additionalProperties`, if there is one.
    pub fn additional(self) -> Option<Self> {
        match self.node().additional {
            AdditionalProperties::Schema(id) => Some(self.at(id)),
            AdditionalProperties::Unspecified
            | AdditionalProperties::Allowed
            | AdditionalProperties::Forbidden => None,
        }
    }

    /// The schema of list items.
    pub fn items(self) -> Option<Self> {
        self.node().items.map(|id| self.at(id))
    }
}
