//! What a schema means for merging: which values are scalars, lists or maps, and what identifies list items.

use serde_json::Value;

use super::path::PathElement;
use crate::schema::{
    Additional, DEDUCED, ListType, OBJECT_META, SchemaRef, TEXT, Type, UNTYPED, go_quote,
};

/// How to treat a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Scalar,
    List,
    Map,
    /// The schema allows all forms and the value does not tell which. Treated as a map.
    Open,
}

/// The form of a value. A value that the schema does not allow has the form that the schema asks for.
pub(super) fn form(schema: SchemaRef<'_>, value: Option<&Value>) -> Form {
    match schema.type_ {
        Type::Object => Form::Map,
        Type::Array => Form::List,
        Type::String | Type::Integer | Type::Number | Type::Boolean | Type::Scalar => Form::Scalar,
        Type::Any => match value {
            None | Some(Value::Null) => Form::Open,
            Some(Value::Array(_)) => Form::List,
            Some(Value::Object(_)) => Form::Map,
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Form::Scalar,
        },
    }
}

/// Whether a field is declared by name, in contrast to a key of a map.
pub(super) fn is_declared(schema: SchemaRef<'_>, name: &str) -> bool {
    schema.node().properties.contains_key(name) || is_meta(schema, name)
}

fn is_meta(schema: SchemaRef<'_>, name: &str) -> bool {
    schema.resource && matches!(name, "apiVersion" | "kind" | "metadata")
}

/// The schema of a field, if the field may exist.
pub(super) fn field<'s>(schema: SchemaRef<'s>, name: &str) -> Option<SchemaRef<'s>> {
    if is_meta(schema, name) {
        let id = if name == "metadata" {
            OBJECT_META
        } else {
            TEXT
        };
        return Some(schema.at(id));
    }
    if let Some(property) = schema.property(name) {
        return Some(property);
    }
    match schema.node().additional {
        Additional::Schema(id) => Some(schema.at(id)),
        Additional::Allowed => Some(schema.at(DEDUCED)),
        Additional::Forbidden => None,
        Additional::Unsaid => {
            let is_bare = schema.node().properties.is_empty() && !schema.resource;
            (is_bare || schema.inside_preserved).then(|| schema.at(DEDUCED))
        }
    }
}

/// The schema of list items.
pub(super) fn item(schema: SchemaRef<'_>) -> SchemaRef<'_> {
    schema.items().unwrap_or_else(|| schema.at(UNTYPED))
}

/// The schema behind one step of a path.
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

/// What identifies an item of a list that is not atomic.
pub(super) fn element(schema: SchemaRef<'_>, item: &Value) -> Result<PathElement, String> {
    match &schema.node().list_type {
        ListType::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        ListType::Set => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => {
                Err("not supported: associative list with lists as elements".to_owned())
            }
            Value::Null => Err(
                "associative list without keys has an element that's an explicit null".to_owned(),
            ),
            scalar => Ok(PathElement::Value(scalar.clone())),
        },
        ListType::Map(keys) => {
            let fields = match item {
                Value::Object(fields) => fields,
                Value::Null => {
                    return Err("associative list with keys may not have a null element".to_owned());
                }
                _ => {
                    return Err(
                        "associative list with keys may not have non-map elements".to_owned()
                    );
                }
            };
            let mut key: Vec<_> = keys
                .iter()
                .filter_map(|key| {
                    let value = fields.get(&key.name).or(key.default.as_ref())?;
                    Some((key.name.clone(), value.clone()))
                })
                .collect();
            if key.is_empty() && !keys.is_empty() {
                let names: Vec<_> = keys.iter().map(|key| go_quote(&key.name)).collect();
                return Err(format!(
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                    names.join(" ")
                ));
            }
            key.sort_by(|(a, _), (b, _)| a.cmp(b));
            Ok(PathElement::Key(key))
        }
    }
}
