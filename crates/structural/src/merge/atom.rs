//! How a schema governs merging: which values are scalars, lists or maps, and what identifies list items.

use outrigger_gostd::strconv::quote;
use serde_json::Value;

use super::path::PathElement;
use crate::schema::{
    AdditionalProperties, ListType, OBJECT_META, STRING, SchemaRef, Type, UNTYPED_ATOMIC,
    UNTYPED_DEDUCED,
};

/// `schema.Atom`: how a value is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Atom {
    Scalar,
    List,
    Map,
    /// The schema allows any type and there is no value to deduce it from. Treated as a map.
    Undetermined,
}

/// The atom that the schema requires, or the one of the value if the schema allows any.
pub(super) fn deduce_atom(schema: SchemaRef<'_>, value: Option<&Value>) -> Atom {
    match schema.type_ {
        Type::Object => Atom::Map,
        Type::Array => Atom::List,
        Type::String | Type::Integer | Type::Number | Type::Boolean | Type::Scalar => Atom::Scalar,
        Type::Any => match value {
            None | Some(Value::Null) => Atom::Undetermined,
            Some(Value::Array(_)) => Atom::List,
            Some(Value::Object(_)) => Atom::Map,
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Atom::Scalar,
        },
    }
}

/// Whether a field is declared, in contrast to a key of a map.
pub(super) fn is_declared(schema: SchemaRef<'_>, name: &str) -> bool {
    schema.node().properties.contains_key(name) || is_implicit(schema, name)
}

fn is_implicit(schema: SchemaRef<'_>, name: &str) -> bool {
    schema.is_resource && matches!(name, "apiVersion" | "kind" | "metadata")
}

/// The schema of a field; `None` if the field is not allowed.
pub(super) fn field<'s>(schema: SchemaRef<'s>, name: &str) -> Option<SchemaRef<'s>> {
    if is_implicit(schema, name) {
        let id = if name == "metadata" {
            OBJECT_META
        } else {
            STRING
        };
        return Some(schema.at(id));
    }
    if let Some(property) = schema.property(name) {
        return Some(property);
    }
    match schema.node().additional {
        AdditionalProperties::Schema(id) => Some(schema.at(id)),
        AdditionalProperties::Allowed => Some(schema.at(UNTYPED_DEDUCED)),
        AdditionalProperties::Forbidden => None,
        AdditionalProperties::Unspecified => {
            let is_untyped = schema.node().properties.is_empty() && !schema.is_resource;
            (is_untyped || schema.inherits_preserve_unknown_fields)
                .then(|| schema.at(UNTYPED_DEDUCED))
        }
    }
}

/// The schema of the items of a list.
pub(super) fn item(schema: SchemaRef<'_>) -> SchemaRef<'_> {
    schema.items().unwrap_or_else(|| schema.at(UNTYPED_ATOMIC))
}

/// The schema of the value that a path element refers to.
pub(super) fn child<'s>(schema: SchemaRef<'s>, element: &PathElement) -> Option<SchemaRef<'s>> {
    let is_map = matches!(schema.type_, Type::Object | Type::Any);
    let is_list = matches!(schema.type_, Type::Array | Type::Any);
    match element {
        PathElement::Field(name) if is_map => field(schema, name),
        PathElement::Key(_) if is_list => Some(item(schema)),
        _ => None,
    }
}

pub(super) fn is_atomic_list(schema: SchemaRef<'_>) -> bool {
    schema.list_type == ListType::Atomic
}

/// Why an item of an associative list has no key. The messages are those of structured-merge-diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyError {
    #[error("invalid indexing of non-associative list")]
    AtomicList,
    #[error("associative list without keys has an element that's a map type")]
    MapInSet,
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
    #[error("associative list with keys may not have a null element")]
    NullItem,
    #[error("associative list with keys may not have non-map elements")]
    NotAMap,
    #[error(
        "associative list with keys has an element that omits all key fields [{0}] (and doesn't have default values for any key fields)"
    )]
    OmitsAllKeys(String),
}

/// The path element that identifies an item of an associative list.
pub(super) fn item_path_element(
    schema: SchemaRef<'_>,
    item: &Value,
) -> Result<PathElement, KeyError> {
    match &schema.node().list_type {
        ListType::Atomic => Err(KeyError::AtomicList),
        ListType::Set => match item {
            Value::Object(_) => Err(KeyError::MapInSet),
            Value::Array(_) => Err(KeyError::ListInSet),
            Value::Null => Err(KeyError::NullInSet),
            scalar => Ok(PathElement::Value(scalar.clone())),
        },
        ListType::Map(keys) => {
            let fields = match item {
                Value::Object(fields) => fields,
                Value::Null => return Err(KeyError::NullItem),
                _ => return Err(KeyError::NotAMap),
            };
            let mut key: Vec<_> = keys
                .iter()
                .filter_map(|key| {
                    let value = fields.get(&key.name).or(key.default.as_ref())?;
                    Some((key.name.clone(), value.clone()))
                })
                .collect();
            if key.is_empty() && !keys.is_empty() {
                let names: Vec<_> = keys.iter().map(|key| quote(&key.name)).collect();
                return Err(KeyError::OmitsAllKeys(names.join(" ")));
            }
            key.sort_by(|(a, _), (b, _)| a.cmp(b));
            Ok(PathElement::Key(key))
        }
    }
}
