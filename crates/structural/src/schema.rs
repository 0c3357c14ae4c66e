//! The shape of a kind, as one tree for every use: server-side apply, strategic merge, pruning, defaulting,
//! validation and strict field checks.
//!
//! A [`Schema`] comes from a custom resource definition ([`Schema::structural`]) or from the definitions of a
//! built-in kind ([`builtin::schema`]). It is an arena of nodes behind an [`Arc`]: recursive types are no problem
//! and a clone costs nothing. Walkers hold a [`SchemaRef`], which is a node together with its arena.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

pub mod builtin;
mod custom_resource;
mod default;
mod definition;
mod field_error;
mod go_text;
mod object_meta;
mod parse;
mod prune;
mod rules;
pub mod strict;
mod validate;
pub mod value;

pub use custom_resource::coerce;
pub use custom_resource::normalize;
pub use default::apply_defaults;
pub use definition::check_definition;
pub use field_error::{FieldError, Reason, aggregate};
pub use go_text::{go_json, go_quote, go_value};
pub use parse::{Error, MAX_DEPTH};
pub use prune::{prune_nulls, prune_unknown};
pub use rules::check_rules;
pub use validate::{
    check_custom_resource, check_embedded_resources, check_list_uniqueness, check_status,
    check_values, check_values_at,
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

/// Where a node is in its arena.
pub type NodeId = usize;

/// Unknown values: scalars, atomic lists and atomic maps.
pub const UNTYPED: NodeId = 0;
/// Unknown values whose maps are merged field by field.
pub const DEDUCED: NodeId = 1;
/// A string, as `apiVersion` and `kind` are.
pub const TEXT: NodeId = 2;
/// The metadata of every resource.
pub const OBJECT_META: NodeId = 3;

/// The JSON type that a schema asks for.
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

/// What may stand beside the declared properties of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Additional {
    /// Nothing is said.
    #[default]
    Unsaid,
    Allowed,
    Forbidden,
    Schema(NodeId),
}

/// How the items of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// Items are scalars, each at most once.
    Set,
    /// Items are objects, identified by these fields.
    Map(Vec<ListKey>),
}

/// One field of the key of a list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListKey {
    pub name: String,
    /// Taken when an item does not say.
    pub default: Option<Value>,
}

/// How a strategic merge patch treats a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchRule {
    /// Lists are merged item by item instead of replaced.
    pub merge: bool,
    /// Objects are replaced instead of merged.
    pub replace: bool,
    /// Identifies the items of a merged list of objects.
    pub merge_key: Option<String>,
}

/// One node of a schema.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own in the schemas that users write"
)]
pub struct Node {
    /// The name of the definition this came from, for built-in kinds.
    pub name: Option<Arc<str>>,
    pub type_: Type,
    pub format: String,
    pub nullable: bool,
    pub default: Option<Value>,
    pub list_type: ListType,
    pub atomic_map: bool,
    /// Fields that are not declared are kept.
    pub preserve_unknown: bool,
    /// This node or one around it preserves unknown fields.
    pub inside_preserved: bool,
    pub embedded_resource: bool,
    pub int_or_string: bool,
    /// The object has `apiVersion`, `kind` and `metadata` although nobody declared them.
    pub resource: bool,
    pub patch: PatchRule,
    pub properties: BTreeMap<String, NodeId>,
    pub additional: Additional,
    pub items: Option<NodeId>,
    pub checks: Option<Box<Checks>>,
    pub rules: Vec<rules::Compiled>,
}

/// What a value must satisfy beyond its type.
#[derive(Debug, Clone, Default)]
pub struct Checks {
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
    pub one_value_of: Vec<Value>,
    pub all_of: Vec<NodeId>,
    pub any_of: Vec<NodeId>,
    pub one_of: Vec<NodeId>,
    pub not: Option<NodeId>,
}

/// A regular expression, compiled once.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub text: String,
    /// Missing if the text is no regular expression.
    pub regex: Option<regex::Regex>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    pub expression: String,
    pub message: String,
    pub message_expression: String,
    pub reason: Option<String>,
    pub field_path: String,
    pub optional_old_self: bool,
}

/// A node in its arena.
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
    pub fn at(self, id: NodeId) -> Self {
        Self {
            nodes: self.nodes,
            id,
        }
    }

    pub fn node(self) -> &'a Node {
        &self.nodes[self.id]
    }

    /// A property as the schema declares it.
    pub fn property(self, name: &str) -> Option<Self> {
        self.node().properties.get(name).map(|id| self.at(*id))
    }

    /// All properties that the schema declares.
    pub fn properties(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.node()
            .properties
            .iter()
            .map(move |(name, id)| (name.as_str(), self.at(*id)))
    }

    /// The schema of fields that are not declared, if there is one.
    pub fn additional(self) -> Option<Self> {
        match self.node().additional {
            Additional::Schema(id) => Some(self.at(id)),
            Additional::Unsaid | Additional::Allowed | Additional::Forbidden => None,
        }
    }

    /// The schema of list items.
    pub fn items(self) -> Option<Self> {
        self.node().items.map(|id| self.at(id))
    }
}
