//! Defaults must be what the schema asks for.

use serde_json::Value;

use crate::schema::field_error::FieldError;
use crate::schema::rules::check_rules_of_default;
use crate::schema::validate::{check_embedded_resources, check_values_at};
use crate::schema::{SchemaRef, prune_unknown};

pub(super) fn check(root: SchemaRef<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(root, path, &mut errors);
    errors
}

fn walk(schema: SchemaRef<'_>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.node().default {
        check_default(default, schema, &format!("{path}.default"), errors);
    }
    if let Some(items) = schema.items() {
        walk(items, &format!("{path}.items"), errors);
    }
    for (name, property) in schema.properties() {
        let is_meta = schema.resource && matches!(name, "metadata" | "apiVersion" | "kind");
        if !is_meta {
            walk(property, &format!("{path}.properties[{name}]"), errors);
        }
    }
}

fn check_default(
    default: &Value,
    schema: SchemaRef<'_>,
    field: &str,
    errors: &mut Vec<FieldError>,
) {
    let mut pruned = default.clone();
    prune_unknown(&mut pruned, schema);
    if pruned != *default {
        errors.push(FieldError::invalid(
            field,
            default.clone(),
            "must not have unknown fields",
        ));
    }
    let mut found: Vec<FieldError> = check_embedded_resources(default, schema)
        .into_iter()
        .map(|error| FieldError {
            field: format!("{field}.{}", error.field),
            ..error
        })
        .collect();
    if found.is_empty() {
        found = check_values_at(field, default, None, schema);
    }
    if found.is_empty() {
        found = check_rules_of_default(default, schema);
        for error in &mut found {
            error.field = match error.field.as_str() {
                "<nil>" => field.to_owned(),
                below => format!("{field}.{below}"),
            };
        }
    }
    errors.extend(found);
}
