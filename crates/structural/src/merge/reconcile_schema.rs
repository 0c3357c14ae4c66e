//! Reconciles a field set with a schema that has changed since the set was recorded: fields of lists and maps that have
//! become atomic are owned as a whole.

use super::atom;
use super::path::PathElement;
use super::set::Set;
use crate::schema::{AdditionalProperties, SchemaRef, Type, UNTYPED_DEDUCED};

/// The reconciled set; `None` if the set conforms to the schema.
pub(super) fn reconcile_with_schema(schema: SchemaRef<'_>, set: &Set) -> Option<Set> {
    let mut walker = Walker::default();
    walker.visit(schema, Some(set), false);
    if walker.atomic.is_empty() {
        return None;
    }
    Some(
        set.recursive_difference(&walker.atomic)
            .union(&walker.atomic),
    )
}

#[derive(Default)]
struct Walker {
    path: Vec<PathElement>,
    /// Fields that have become atomic.
    atomic: Set,
}

impl Walker {
    fn visit(&mut self, schema: SchemaRef<'_>, set: Option<&Set>, is_leaf: bool) {
        match schema.type_ {
            Type::Array => {
                if !is_leaf && atom::is_atomic_list(schema) {
                    self.atomic.insert(&self.path);
                } else {
                    self.visit_children(schema, set);
                }
            }
            Type::Object | Type::Any => {
                if is_deduced(schema) {
                    return;
                }
                if !is_leaf && schema.atomic_map {
                    if set.is_some() {
                        self.atomic.insert(&self.path);
                    }
                } else {
                    self.visit_children(schema, set);
                }
            }
            Type::Scalar | Type::String | Type::Integer | Type::Number | Type::Boolean => {}
        }
    }

    fn visit_children(&mut self, schema: SchemaRef<'_>, set: Option<&Set>) {
        for node in set.into_iter().flat_map(Set::nodes) {
            let child = match (schema.type_, &node.element) {
                (Type::Array, _) => Some(atom::item(schema)),
                (_, PathElement::Field(name)) => atom::field(schema, name),
                _ => schema.additional(),
            };
            let Some(child) = child else {
                continue;
            };
            let children = (!node.children.is_empty()).then_some(&node.children);
            self.path.push(node.element.clone());
            self.visit(child, children, node.member && children.is_none());
            self.path.pop();
        }
    }
}

/// Untyped maps are never reconciled.
fn is_deduced(schema: SchemaRef<'_>) -> bool {
    let node = schema.node();
    let is_open = match node.additional {
        AdditionalProperties::Schema(id) => id == UNTYPED_DEDUCED,
        AdditionalProperties::Allowed | AdditionalProperties::Unspecified => true,
        AdditionalProperties::Forbidden => false,
    };
    node.properties.is_empty() && is_open
}
