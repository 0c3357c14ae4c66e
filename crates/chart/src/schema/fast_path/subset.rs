//! The subset of JSON Schema with the same meaning in all drafts. The whole schema is checked, including parts that do not
//! apply to the values.

use regex::Regex;
use serde_json::{Map, Value};

/// The maximum nesting of schemas.
const MAX_DEPTH: usize = 64;

/// Drafts with numeric exclusive bounds and `$ref` as keyword.
const DRAFTS: &[&str] = &[
    "http://json-schema.org/schema",
    "https://json-schema.org/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

/// Keywords of some draft that are not in the subset.
const UNSUPPORTED: &[&str] = &[
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

pub(super) fn contains(schema: &Value) -> bool {
    let draft = schema.get("$schema").map_or(Some(""), Value::as_str);
    draft.is_some_and(|draft| draft.is_empty() || DRAFTS.contains(&draft.trim_end_matches('#')))
        && contains_schema(schema, schema, 0)
}

/// The pointer of a reference to a definition in the document, or to a definition inside of it.
pub(super) fn local_reference(reference: &Value) -> Option<&str> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    let parts: Vec<&str> = pointer.strip_prefix('/')?.split('/').collect();
    let is_definition = |pair: &[&str]| matches!(pair, [section, name] if matches!(*section, "$defs" | "definitions") && !name.is_empty());
    let is_local = parts.chunks(2).all(is_definition) && !pointer.contains(['~', '%']);
    is_local.then_some(pointer)
}

/// Whether an id does not change what the local references of a document refer to.
fn is_absolute_url(id: &Value) -> bool {
    id.as_str().is_some_and(|id| {
        let rest = id
            .strip_prefix("https://")
            .or_else(|| id.strip_prefix("http://"));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
        rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_plain))
    })
}

fn contains_schema(root: &Value, schema: &Value, depth: usize) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(schema) => {
            let has_reference = schema.contains_key("$ref");
            depth < MAX_DEPTH
                && schema.iter().all(|(keyword, argument)| {
                    (!has_reference || is_annotation(keyword))
                        && contains_keyword(root, keyword, argument, depth)
                })
        }
        _ => false,
    }
}

/// Whether a keyword has no effect on validation. Old drafts ignore keywords beside a reference, new ones do not.
fn is_annotation(keyword: &str) -> bool {
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

fn contains_keyword(root: &Value, keyword: &str, argument: &Value, depth: usize) -> bool {
    let is_schema = |schema: &Value| contains_schema(root, schema, depth + 1);
    let are_schemas = |schemas: &Map<String, Value>| schemas.values().all(is_schema);
    match keyword {
        "$schema" => depth == 0,
        "$id" => depth == 0 && is_absolute_url(argument),
        "$ref" => local_reference(argument).is_some_and(|pointer| root.pointer(pointer).is_some()),
        "$comment" | "title" | "description" => argument.is_string(),
        "deprecated" | "readOnly" | "writeOnly" | "uniqueItems" => argument.is_boolean(),
        "examples" | "enum" => argument.is_array(),
        "type" => match argument {
            Value::Array(types) => {
                !types.is_empty() && are_unique_strings(types) && types.iter().all(is_type)
            }
            other => is_type(other),
        },
        "required" => argument
            .as_array()
            .is_some_and(|names| are_unique_strings(names)),
        "properties" | "definitions" | "$defs" => argument.as_object().is_some_and(are_schemas),
        "patternProperties" => argument.as_object().is_some_and(|patterns| {
            patterns.keys().all(|pattern| is_portable(pattern)) && are_schemas(patterns)
        }),
        "additionalProperties" | "items" | "not" | "if" | "then" | "else" => is_schema(argument),
        "allOf" | "anyOf" | "oneOf" => argument
            .as_array()
            .is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_schema)),
        "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {
            argument.is_u64()
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => argument.is_number(),
        "pattern" => argument.as_str().is_some_and(is_portable),
        // Unknown keywords have no effect.
        _ => !UNSUPPORTED.contains(&keyword),
    }
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn are_unique_strings(values: &[Value]) -> bool {
    values
        .iter()
        .enumerate()
        .all(|(index, value)| value.is_string() && !values[..index].contains(value))
}

/// Whether a pattern has the same meaning in all regular expression syntaxes.
fn is_portable(pattern: &str) -> bool {
    let has_special_escape = pattern.split('\\').skip(1).any(|rest| {
        !rest.starts_with([
            '.', '-', '/', '[', ']', '(', ')', '{', '}', '+', '*', '?', '$', '^', '|',
        ])
    });
    !has_special_escape
        && !pattern.contains("(?")
        && !pattern.contains("[[")
        && !pattern.contains("&&")
        && Regex::new(pattern).is_ok()
}
