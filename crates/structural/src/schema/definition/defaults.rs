//! Validates defaults against their schema.

use outrigger_apimachinery::status::field;
use serde_json::Value;

use crate::schema::field_error;
use crate::schema::rules::validate_rules_of_default;
use crate::schema::validate::{validate_embedded_resources, validate_schema_at};
use crate::schema::{SchemaRef, prune_unknown};

pub(super) fn validate(root: SchemaRef<'_>, path: &str) -> Vec<field::Error> {
    let mut errors = Vec::new();
    walk(root, path, &mut errors);
    errors
}

fn walk(schema: SchemaRef<'_>, path: &str, errors: &mut Vec<field::Error>) {
    if let Some(default) = &schema.node().default {
        validate_default(default, schema, &format!("{path}.default"), errors);
    }
    if let Some(items) = schema.items() {
        walk(items, &format!("{path}.items"), errors);
    }
    for (name, property) in schema.properties() {
        let is_meta = schema.is_resource && matches!(name, "metadata" | "apiVersion" | "kind");
        if !is_meta {
            walk(property, &format!("{path}.properties[{name}]"), errors);
        }
    }
}

fn validate_default(
    default: &Value,
    schema: SchemaRef<'_>,
    field: &str,
    errors: &mut Vec<field::Error>,
) {
    let mut pruned = default.clone();
    prune_unknown(&mut pruned, schema);
    if pruned != *default {
        errors.push(field_error::invalid(
            field,
            default.clone(),
            "must not have unknown fields",
        ));
    }
    let mut found: Vec<field::Error> = validate_embedded_resources(default, schema)
        .into_iter()
        .map(|error| field::Error {
            field: format!("{field}.{}", error.field),
            ..error
        })
        .collect();
    if found.is_empty() {
        found = validate_schema_at(field, default, None, schema);
    }
    if found.is_empty() {
        found = validate_rules_of_default(default, schema);
        for error in &mut found {
            error.field = match error.field.as_str() {
                "<nil>" => field.to_owned(),
                path => format!("{field}.{path}"),
            };
        }
    }
    errors.extend(found);
}
