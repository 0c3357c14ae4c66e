//! Brings sets of fields up to date with a schema that has changed since they were written: what was merged and is
//! one value now is owned as one value.

use super::form;
use super::path::PathElement;
use super::set::Set;
use crate::schema::{Additional, DEDUCED, SchemaRef, Type};

/// The set as it must be under the schema, or nothing if it is so already.
pub(super) fn reconcile(schema: SchemaRef<'_>, set: &Set) -> Option<Set> {
    let mut walker = Walker::default();
    walker.visit(schema, Some(set), false);
    if walker.whole.is_empty() {
        return None;
    }
    Some(set.recursive_difference(&walker.whole).union(&walker.whole))
}

#[derive(Default)]
struct Walker {
    path: Vec<PathElement>,
    /// Fields that are owned in parts but are one value.
    whole: Set,
}

impl Walker {
    fn visit(&mut self, schema: SchemaRef<'_>, set: Option<&Set>, is_leaf: bool) {
        match schema.type_ {
            Type::Array => {
                if !is_leaf && form::is_atomic_list(schema) {
                    self.whole.insert(&self.path);
                } else {
                    self.below(schema, set);
                }
            }
            Type::Object | Type::Any => {
                if is_deduced(schema) {
                    return;
                }
                if !is_leaf && schema.atomic_map {
                    if set.is_some() {
                        self.whole.insert(&self.path);
                    }
                } else {
                    self.below(schema, set);
                }
            }
            Type::Scalar | Type::String | Type::Integer | Type::Number | Type::Boolean => {}
        }
    }

    fn below(&mut self, schema: SchemaRef<'_>, set: Option<&Set>) {
        for node in set.into_iter().flat_map(Set::nodes) {
            let child = match (schema.type_, &node.element) {
                (Type::Array, _) => Some(form::item(schema)),
                (_, PathElement::Field(name)) => form::field(schema, name),
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

/// Maps about which nothing is known are never reconciled.
fn is_deduced(schema: SchemaRef<'_>) -> bool {
    let node = schema.node();
    let is_open = match node.additional {
        Additional::Schema(id) => id == DEDUCED,
        Additional::Allowed | Additional::Unsaid => true,
        Additional::Forbidden => false,
    };
    node.properties.is_empty() && is_open
}
