//! Validation of `selectableFields`.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::fields::{list, text};
use crate::validation::field_checks::require;

const MAX_FIELDS: usize = 8;
const NOT_A_FIELD: &str = "does not refer to a valid field";

/// Validates the selectable fields of a version. `path` is that of the spec if there is only one version.
pub(super) fn validate(errors: &mut Vec<Error>, path: &Path<'_>, version: &Value, is_single: bool) {
    let fields = list(version, "selectableFields");
    let path = path.child("selectableFields");
    if fields.is_empty() {
        return;
    }
    let schema = &version["schema"]["openAPIV3Schema"];
    if !schema.is_object() {
        let detail = if is_single {
            "may only be set when validations.schema is included"
        } else {
            "may only be set when `version.schema.openAPIV3Schema` is not included"
        };
        errors.push(Error::invalid(&path, "", detail));
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, selectable) in fields.iter().enumerate() {
        let field = path.index(index);
        let field = field.child("jsonPath");
        let route = text(selectable, "jsonPath");
        if !require(errors, &field, route) {
            continue;
        }
        let found = match find(route, schema) {
            Ok(found) => found,
            Err(why) => {
                let detail = format!("is an invalid path: {why}");
                errors.push(Error::invalid(&field, route, detail));
                continue;
            }
        };
        if route == ".metadata" || route.starts_with(".metadata.") {
            let detail = "must not point to fields in metadata";
            errors.push(Error::invalid(&field, route, detail));
        }
        if !matches!(text(found, "type"), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(Error::invalid(&field, route, detail));
        }
        if seen.contains(&route) {
            errors.push(Error::duplicate(&field, route));
        } else {
            seen.push(route);
        }
    }
    if seen.len() > MAX_FIELDS {
        errors.push(Error::too_many(&path, seen.len(), MAX_FIELDS));
    }
}

/// The schema of the field that a path names.
fn find<'a>(route: &str, schema: &'a Value) -> Result<&'a Value, String> {
    let mut schema = schema;
    let mut rest = route;
    while !rest.is_empty() {
        let (token, after) = next_token(rest);
        match token {
            "." if after.is_empty() => return Err("unexpected end of JSON path".to_owned()),
            "." => {}
            "[" => return Err("array notation is not allowed".to_owned()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        let (name, after) = next_token(after);
        let properties = schema["properties"].as_object();
        schema = match properties.filter(|properties| !properties.is_empty()) {
            Some(properties) => properties.get(name).ok_or(NOT_A_FIELD)?,
            None => schema.get("additionalProperties").ok_or(NOT_A_FIELD)?,
        };
        rest = after;
    }
    Ok(schema)
}

/// A dot, a bracket, a quoted text, or what is before the next of the first two; and the rest.
fn next_token(text: &str) -> (&str, &str) {
    let end = if text.starts_with(['.', '[', ']']) {
        1
    } else if let Some(quoted) = text.strip_prefix('\'') {
        let mut ends = quoted.match_indices('\'');
        ends.find(|(at, _)| !quoted[..*at].ends_with('\\'))
            .map_or(text.len(), |(at, _)| at.saturating_add(2))
    } else {
        text.find(['.', '[', ']']).unwrap_or(text.len())
    };
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_plain_fields_of_the_schema_can_be_selected() {
        let spec = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}});
        let metadata = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let schema = json!({"type": "object", "properties": {"spec": spec, "metadata": metadata}});
        for (route, expected) in [
            (".spec.a", ""),
            (
                ".spec.nope",
                "is an invalid path: does not refer to a valid field",
            ),
            (
                ".spec.a.x",
                "is an invalid path: does not refer to a valid field",
            ),
            (".spec.", "is an invalid path: unexpected end of JSON path"),
            (
                ".spec['a']",
                "is an invalid path: array notation is not allowed",
            ),
            (
                "spec.a",
                "is an invalid path: expected [ or . but got: spec",
            ),
            (".metadata.name", "must not point to fields in metadata"),
            (
                ".spec.b",
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            ),
        ] {
            let version = json!({"selectableFields": [{"jsonPath": route}], "schema": {"openAPIV3Schema": schema}});
            let mut errors = Vec::new();
            validate(&mut errors, &Path::root("spec"), &version, true);
            let detail = errors.first().map_or("", |error| error.detail.as_str());
            assert_eq!(detail, expected, "{route}");
        }
    }
}
