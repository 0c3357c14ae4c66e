//! Converts schemas to those of the CEL crate, which know how data appear in expressions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use outrigger_cel::schema::{Field, Format, Kind, ListType as CelListType, Schema as CelSchema};
use serde_json::Value;

use crate::schema::{ListType, NodeId, SchemaRef, Type};

/// The converted schemas of nodes.
pub(super) type Converted = HashMap<NodeId, Arc<CelSchema>>;

/// Converts a schema and all schemas inside of it.
pub(super) fn convert(schema: SchemaRef<'_>, converted: &mut Converted) -> Arc<CelSchema> {
    if let Some(known) = converted.get(&schema.id) {
        return known.clone();
    }
    let validation = schema.node().value_validation.as_deref();
    let max = |of: fn(&crate::schema::ValueValidation) -> Option<i64>| validation.and_then(of);
    let (kind, max) = match schema.type_ {
        _ if schema.int_or_string => (Kind::IntOrString, max(|v| v.max_length)),
        Type::Object => (object(schema, converted), max(|v| v.max_properties)),
        Type::Array => {
            let items = schema.items().map(|items| convert(items, converted));
            let kind = Kind::Array(items, list_type(&schema.node().list_type));
            (kind, max(|v| v.max_items))
        }
        Type::String => (Kind::String(format(&schema.format)), max(|v| v.max_length)),
        Type::Number => (Kind::Number, None),
        Type::Integer => (Kind::Integer, None),
        Type::Boolean => (Kind::Boolean, None),
        Type::Any | Type::Scalar if schema.preserve_unknown_fields => (Kind::Preserved, None),
        Type::Any | Type::Scalar => (Kind::Untyped, None),
    };
    let result = Arc::new(CelSchema {
        kind,
        nullable: schema.nullable,
        max,
        longest_enum: longest_enum(schema),
    });
    converted.insert(schema.id, result.clone());
    result
}

fn object(schema: SchemaRef<'_>, converted: &mut Converted) -> Kind {
    let required = schema.node().value_validation.as_deref();
    let required = required.map_or(&[][..], |validation| &validation.required);
    let fields = schema.properties().map(|(name, property)| {
        let field = Field {
            schema: convert(property, converted),
            required: required.iter().any(|required| required == name),
            has_default: property.default.is_some(),
        };
        (name.to_owned(), field)
    });
    let mut fields: BTreeMap<String, Field> = fields.collect();
    if schema.is_resource {
        add_type_and_object_meta(&mut fields);
    }
    if !fields.is_empty() {
        return Kind::Object(fields);
    }
    match schema.additional() {
        Some(values) => Kind::Map(convert(values, converted)),
        None => Kind::EmptyObject,
    }
}

/// At the root of a resource, expressions can always read the type, the name and `generateName`, and nothing else of the
/// metadata that the schema does not declare.
fn add_type_and_object_meta(fields: &mut BTreeMap<String, Field>) {
    let is_string = |field: Option<&Field>| {
        field.is_some_and(|field| matches!(field.schema.kind, Kind::String(_)))
    };
    let has_names = match fields.get("metadata").map(|field| &field.schema.kind) {
        Some(Kind::Object(metadata)) => {
            is_string(metadata.get("name")) && is_string(metadata.get("generateName"))
        }
        _ => false,
    };
    if has_names && is_string(fields.get("kind")) && is_string(fields.get("apiVersion")) {
        return;
    }
    let required = |fields: &BTreeMap<String, Field>, name: &str| {
        fields.get(name).is_some_and(|field| field.required)
    };
    let field = |kind: Kind, required: bool| Field {
        schema: Arc::new(CelSchema {
            kind,
            ..CelSchema::default()
        }),
        required,
        has_default: false,
    };
    let string = || Kind::String(Format::Plain);
    for name in ["kind", "apiVersion"] {
        let is_required = required(fields, name);
        fields.insert(name.to_owned(), field(string(), is_required));
    }
    let names = ["name", "generateName"];
    let metadata = names.map(|name| (name.to_owned(), field(string(), false)));
    let is_required = required(fields, "metadata");
    let metadata = field(Kind::Object(metadata.into()), is_required);
    fields.insert("metadata".to_owned(), metadata);
}

fn list_type(list_type: &ListType) -> CelListType {
    match list_type {
        ListType::Atomic => CelListType::Atomic,
        ListType::Set => CelListType::Set,
        ListType::Map(keys) => CelListType::Map(keys.iter().map(|key| key.name.clone()).collect()),
    }
}

fn format(format: &str) -> Format {
    match format {
        "byte" => Format::Byte,
        "duration" => Format::Duration,
        "date" => Format::Date,
        "date-time" => Format::DateTime,
        _ => Format::Plain,
    }
}

fn longest_enum(schema: SchemaRef<'_>) -> Option<i64> {
    let validation = schema.node().value_validation.as_deref()?;
    let lengths = validation.enum_.iter().map(|value| match value {
        Value::String(text) => i64::try_from(text.len()).unwrap_or(i64::MAX),
        _ => 0,
    });
    lengths.max()
}
