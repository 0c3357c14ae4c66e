//! Built-in objects as Go's encoder writes them.
//!
//! A real server decodes a request into Go structs and encodes them again. Empty strings, lists and maps go, null
//! goes, unknown fields go, and some fields come back although they are empty (`resources: {}`). Objects must have
//! that form before ownership is computed, or the entries differ from a real server's.

use std::collections::HashMap;
use std::sync::LazyLock;

use outrigger_apimachinery::quantity;
use serde_json::{Map, Value};

use super::PREFIX;
use crate::schema::{SchemaRef, Type};

/// What is special about a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Written in any case.
    Always,
    /// Written in any case, as null if it is not set.
    Nullable,
    /// Written if it is set, also if it is zero.
    Pointer,
}

/// Fields that are not simply left out when they are empty. One line for each definition: its name without
/// `io.k8s.`, then the fields with a sign before each.
static FIELDS: LazyLock<HashMap<&'static str, Vec<(&'static str, Presence)>>> =
    LazyLock::new(|| {
        let lines = include_str!("go_fields.txt").lines();
        lines
            .filter_map(|line| line.split_once(' '))
            .map(|(name, fields)| (name, read(fields)))
            .collect()
    });

fn read(fields: &'static str) -> Vec<(&'static str, Presence)> {
    let fields = fields.split(' ').filter_map(|field| {
        let (sign, name) = field.split_at_checked(1)?;
        let presence = match sign {
            "!" => Presence::Always,
            "0" => Presence::Nullable,
            _ => Presence::Pointer,
        };
        Some((name, presence))
    });
    fields.collect()
}

fn fields_of(schema: SchemaRef<'_>) -> &'static [(&'static str, Presence)] {
    let name = schema.node().name.as_deref().unwrap_or_default();
    let fields = FIELDS.get(name.strip_prefix(PREFIX).unwrap_or(name));
    fields.map_or(&[], Vec::as_slice)
}

/// The object that a create starts from: nothing but the fields that are always written.
pub fn empty(schema: SchemaRef<'_>) -> Value {
    let mut object = Map::new();
    add_missing(&mut object, schema);
    Value::Object(object)
}

/// Brings a built-in object into the form that Go's encoder gives it.
pub fn normalize(value: &mut Value, schema: SchemaRef<'_>) {
    match value {
        Value::Object(map) if is_struct(schema) => {
            let fields = fields_of(schema);
            map.retain(|name, value| {
                schema.property(name).is_some_and(|property| {
                    normalize(value, property);
                    is_written(value, property, presence(fields, name))
                })
            });
            add_missing(map, schema);
        }
        Value::Object(map) => {
            if let Some(schema) = schema.additional() {
                for value in map.values_mut() {
                    if value.is_null() {
                        *value = zero(schema);
                    }
                    normalize(value, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                for value in items {
                    if value.is_null() {
                        *value = zero(schema);
                    }
                    normalize(value, schema);
                }
            }
        }
        Value::Number(number) if is_quantity(schema) => {
            let text = number.to_string();
            *value = quantity::canonicalize(&text).unwrap_or(text).into();
        }
        Value::String(text) if is_quantity(schema) => {
            if let Some(canonical) = quantity::canonicalize(text) {
                *text = canonical;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_quantity(schema: SchemaRef<'_>) -> bool {
    schema.node().type_ == Type::Scalar
}

/// Objects with declared fields and no others.
fn is_struct(schema: SchemaRef<'_>) -> bool {
    schema.node().name.is_some() && !schema.node().properties.is_empty()
}

fn presence(fields: &[(&'static str, Presence)], name: &str) -> Option<Presence> {
    let field = fields.iter().find(|(field, _)| *field == name);
    field.map(|(_, presence)| *presence)
}

fn is_written(value: &Value, schema: SchemaRef<'_>, presence: Option<Presence>) -> bool {
    match (value, presence) {
        (Value::Null, _) => false,
        (_, Some(_)) => true,
        (Value::Bool(flag), None) => *flag,
        (Value::String(text), None) => !text.is_empty() || is_custom(schema),
        (Value::Number(number), None) => number.as_f64() != Some(0.0) || is_custom(schema),
        (Value::Array(items), None) => !items.is_empty(),
        (Value::Object(map), None) => {
            !map.is_empty() || is_struct(schema) || schema.node().name.is_some()
        }
    }
}

/// Types that write themselves: quantities, times, numbers that may be strings.
fn is_custom(schema: SchemaRef<'_>) -> bool {
    schema.node().name.is_some()
}

fn add_missing(map: &mut Map<String, Value>, schema: SchemaRef<'_>) {
    for (name, presence) in fields_of(schema) {
        if *presence == Presence::Pointer || map.contains_key(*name) {
            continue;
        }
        if let Some(property) = schema.property(name) {
            let value = match presence {
                Presence::Always => zero(property),
                Presence::Nullable | Presence::Pointer => Value::Null,
            };
            map.insert((*name).to_owned(), value);
        }
    }
}

/// What Go writes for a field that was never set.
fn zero(schema: SchemaRef<'_>) -> Value {
    let name = schema.node().name.as_deref().unwrap_or_default();
    match name.rsplit('.').next() {
        Some("Quantity") => return "0".into(),
        Some("IntOrString") => return 0.into(),
        _ => {}
    }
    match schema.node().type_ {
        Type::Object if is_struct(schema) => empty(schema),
        Type::Object if schema.node().name.is_some() => Value::Object(Map::new()),
        Type::String if schema.node().format.is_empty() => "".into(),
        Type::Integer | Type::Number => 0.into(),
        Type::Boolean => false.into(),
        _ => Value::Null,
    }
}
