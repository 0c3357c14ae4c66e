//! Whether a schema uses only what means the same in every draft, and uses it rightly, also where no value looks.

use regex::Regex;
use serde_json::{Map, Value};

/// Schemas may nest this deep.
const MAX_DEPTH: usize = 64;

/// Drafts in which numbers bound a range and `$ref` is a keyword.
const DRAFTS: &[&str] = &[
    "http://json-schema.org/schema",
    "https://json-schema.org/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

/// Keywords that some draft gives a meaning that is not known here.
const NOT_PLAIN: &[&str] = &[
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$vocabulary",
    "additionalItems",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "format",
    "id",
    "maxContains",
    "minContains",
    "multipleOf",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

const TYPES: &[&str] = &[
    "array", "boolean", "integer", "null", "number", "object", "string",
];

pub(super) fn is_plain(schema: &Value) -> bool {
    let draft = schema.get("$schema").map_or(Some(""), Value::as_str);
    draft.is_some_and(|draft| draft.is_empty() || DRAFTS.contains(&draft.trim_end_matches('#')))
        && schema_is_plain(schema, 0)
}

/// The section and the name that a reference into the document points at.
pub(super) fn local_reference(reference: &Value) -> Option<(&str, &str)> {
    let (section, name) = reference.as_str()?.strip_prefix("#/")?.split_once('/')?;
    let is_section = matches!(section, "$defs" | "definitions");
    (is_section && !name.contains(['/', '~', '%'])).then_some((section, name))
}

fn schema_is_plain(schema: &Value, depth: usize) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(schema) => {
            let has_reference = schema.contains_key("$ref");
            depth < MAX_DEPTH
                && schema.iter().all(|(keyword, argument)| {
                    (!has_reference || is_silent_beside_reference(keyword))
                        && keyword_is_plain(keyword, argument, depth)
                })
        }
        _ => false,
    }
}

/// Older drafts ignore what stands beside a reference, newer ones do not.
fn is_silent_beside_reference(keyword: &str) -> bool {
    matches!(
        keyword,
        "$comment"
            | "$defs"
            | "$ref"
            | "$schema"
            | "default"
            | "definitions"
            | "description"
            | "examples"
            | "title"
    )
}

fn keyword_is_plain(keyword: &str, argument: &Value, depth: usize) -> bool {
    let is_schema = |schema: &Value| schema_is_plain(schema, depth + 1);
    let are_schemas = |schemas: &Map<String, Value>| schemas.values().all(is_schema);
    match keyword {
        "$schema" => depth == 0,
        "$ref" => local_reference(argument).is_some(),
        "$comment" | "title" | "description" => argument.is_string(),
        "deprecated" | "readOnly" | "writeOnly" | "uniqueItems" => argument.is_boolean(),
        "examples" | "enum" => argument.is_array(),
        "type" => match argument {
            Value::Array(types) => {
                !types.is_empty() && are_unique_texts(types) && types.iter().all(is_type)
            }
            other => is_type(other),
        },
        "required" => argument
            .as_array()
            .is_some_and(|names| are_unique_texts(names)),
        "properties" | "definitions" | "$defs" => argument.as_object().is_some_and(are_schemas),
        "patternProperties" => argument.as_object().is_some_and(|patterns| {
            patterns.keys().all(|pattern| is_plain_pattern(pattern)) && are_schemas(patterns)
        }),
        "additionalProperties" | "items" | "not" | "if" | "then" | "else" => is_schema(argument),
        "allOf" | "anyOf" | "oneOf" => argument
            .as_array()
            .is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_schema)),
        "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {
            argument.is_u64()
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => argument.is_number(),
        "pattern" => argument.as_str().is_some_and(is_plain_pattern),
        // Unknown keywords say nothing.
        _ => !NOT_PLAIN.contains(&keyword),
    }
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn are_unique_texts(texts: &[Value]) -> bool {
    texts
        .iter()
        .enumerate()
        .all(|(at, text)| text.is_string() && !texts[..at].contains(text))
}

/// A pattern that every dialect of regular expressions reads alike.
fn is_plain_pattern(pattern: &str) -> bool {
    let has_odd_escape = pattern.split('\\').skip(1).any(|rest| {
        !rest.starts_with([
            '.', '-', '/', '[', ']', '(', ')', '{', '}', '+', '*', '?', '$', '^', '|',
        ])
    });
    !has_odd_escape
        && !pattern.contains("(?")
        && !pattern.contains("[[")
        && !pattern.contains("&&")
        && Regex::new(pattern).is_ok()
}
