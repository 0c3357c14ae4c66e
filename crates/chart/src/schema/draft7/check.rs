//! Checks the schema itself, as gojsonschema does when it parses a schema.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::reference;
use crate::schema::SchemaError;

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "number", "null", "object", "string",
];

/// The maximum nesting of schemas.
const MAX_DEPTH: usize = 256;

/// Returns the first error, with the message of gojsonschema.
pub(super) fn check(schema: &Json) -> Result<(), SchemaError> {
    let mut checker = Checker {
        root: schema,
        targets: HashSet::new(),
    };
    checker.check_at(schema, 0).map_err(SchemaError)
}

struct Checker<'s> {
    root: &'s Json,
    /// The references whose targets are checked.
    targets: HashSet<&'s str>,
}

impl<'s> Checker<'s> {
    fn check_at(&mut self, schema: &'s Json, depth: usize) -> Result<(), String> {
        let Json::Object(schema) = schema else {
            return match schema {
                Json::Bool(_) => Ok(()),
                _ => Err("Expected: valid schema, given: Invalid JSON".to_owned()),
            };
        };
        if depth > MAX_DEPTH {
            return Ok(());
        }
        if let Some(Json::String(reference)) = schema.get("$ref") {
            return self.check_target(reference, depth);
        }
        for key in ["title", "description", "$ref"] {
            if schema.get(key).is_some_and(|value| !value.is_string()) {
                return Err(format!("Invalid type. Expected: string, given: {key}"));
            }
        }
        check_types(schema)?;
        check_bounds(schema)?;
        check_lists(schema)?;
        self.check_subschemas(schema, depth + 1)
    }

    /// Checks the schema that a reference refers to.
    fn check_target(&mut self, reference: &'s str, depth: usize) -> Result<(), String> {
        if !self.targets.insert(reference) {
            return Ok(());
        }
        match reference::resolve(self.root, reference) {
            Some(target) => self.check_at(target, depth + 1),
            None => Err(reference::problem(self.root, reference)),
        }
    }

    fn check_subschemas(
        &mut self,
        schema: &'s Map<String, Json>,
        depth: usize,
    ) -> Result<(), String> {
        for key in ["definitions", "properties", "patternProperties"] {
            match schema.get(key) {
                Some(Json::Object(schemas)) => {
                    for schema in schemas.values() {
                        self.check_at(schema, depth)?;
                    }
                }
                Some(_) if key == "properties" => {
                    return Err("properties must be of type object".to_owned());
                }
                _ => {}
            }
        }
        for key in [
            "additionalProperties",
            "items",
            "additionalItems",
            "contains",
            "propertyNames",
            "not",
            "if",
            "then",
            "else",
        ] {
            match schema.get(key) {
                Some(Json::Array(schemas)) => {
                    for schema in schemas {
                        self.check_at(schema, depth)?;
                    }
                }
                Some(schema @ Json::Object(_)) => self.check_at(schema, depth)?,
                _ => {}
            }
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            for schema in schema
                .get(key)
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
            {
                self.check_at(schema, depth)?;
            }
        }
        Ok(())
    }
}

fn check_types(schema: &Map<String, Json>) -> Result<(), String> {
    let names = match schema.get("type") {
        None => return Ok(()),
        Some(Json::String(name)) => vec![name.as_str()],
        Some(Json::Array(names)) if names.iter().all(Json::is_string) => {
            names.iter().filter_map(Json::as_str).collect()
        }
        Some(_) => {
            return Err("Invalid type. Expected: string/array of strings, given: type".to_owned());
        }
    };
    for (index, name) in names.iter().enumerate() {
        if !TYPES.contains(name) {
            let types = TYPES.join(" ");
            return Err(format!(
                "has a primitive type that is NOT VALID -- given: /{name}/ Expected valid values are:[{types}]"
            ));
        }
        if names[..index].contains(name) {
            return Err(format!("{name} type is duplicated"));
        }
    }
    Ok(())
}

fn check_bounds(schema: &Map<String, Json>) -> Result<(), String> {
    if let Some(step) = schema.get("multipleOf") {
        match step.as_f64() {
            None => return Err("Invalid type. Expected: number, given: multipleOf".to_owned()),
            Some(step) if step <= 0.0 => {
                return Err("multipleOf must be strictly greater than 0".to_owned());
            }
            Some(_) => {}
        }
    }
    for key in ["minimum", "maximum"] {
        if schema.get(key).is_some_and(|bound| !bound.is_number()) {
            return Err(format!("{key} must be of a number"));
        }
    }
    for (low, high, compared) in [
        ("minLength", "maxLength", true),
        ("minProperties", "maxProperties", true),
        ("minItems", "maxItems", false),
    ] {
        let (min, max) = (count(schema, low)?, count(schema, high)?);
        if compared
            && let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            return Err(format!("{low} cannot be greater than {high}"));
        }
    }
    Ok(())
}

fn count(schema: &Map<String, Json>, key: &str) -> Result<Option<i64>, String> {
    match schema.get(key) {
        None => Ok(None),
        Some(value) => match value.as_i64() {
            None => Err(format!("{key} must be of an integer")),
            Some(n) if n < 0 => Err(format!("{key} must be greater than or equal to 0")),
            Some(n) => Ok(Some(n)),
        },
    }
}

fn check_lists(schema: &Map<String, Json>) -> Result<(), String> {
    match schema.get("pattern") {
        Some(Json::String(pattern)) if regex::Regex::new(pattern).is_err() => {
            return Err("pattern must be a valid regex".to_owned());
        }
        None | Some(Json::String(_)) => {}
        Some(_) => return Err("pattern must be of a string".to_owned()),
    }
    for key in ["enum", "oneOf", "anyOf", "allOf", "required"] {
        if schema.get(key).is_some_and(|list| !list.is_array()) {
            return Err(format!("{key} must be of an array"));
        }
    }
    for key in ["enum", "required"] {
        let items = schema
            .get(key)
            .and_then(Json::as_array)
            .map_or(&[][..], Vec::as_slice);
        if key == "required" && items.iter().any(|item| !item.is_string()) {
            return Err("required items must be string".to_owned());
        }
        if items
            .iter()
            .enumerate()
            .any(|(index, item)| items[..index].contains(item))
        {
            return Err(format!("{key} items must be unique"));
        }
    }
    Ok(())
}
