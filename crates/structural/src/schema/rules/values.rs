//! Converts JSON values to CEL values: escapes field names, and converts strings with a format to timestamps, durations
//! and bytes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Program, Value as CelValue};
use serde_json::{Number, Value};

use crate::schema::{AdditionalProperties, SchemaRef, Type};

/// Converts a value. `functions` provides CEL's conversions.
pub(super) fn to_cel(value: &Value, schema: SchemaRef<'_>, functions: &Context<'_>) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => number_to_cel(number, schema.type_),
        Value::String(text) => string_to_cel(text, schema, functions),
        Value::Array(items) => {
            let items = items.iter().map(|item| match schema.items() {
                Some(schema) => to_cel(item, schema, functions),
                None => untyped(item),
            });
            CelValue::List(Arc::new(items.collect()))
        }
        Value::Object(fields) => {
            let is_map = matches!(
                schema.node().additional,
                AdditionalProperties::Schema(_) | AdditionalProperties::Allowed
            );
            let fields = fields.iter().map(|(name, value)| {
                let value = match schema.property(name).or_else(|| schema.additional()) {
                    Some(schema) => to_cel(value, schema, functions),
                    None => untyped(value),
                };
                (if is_map { name.clone() } else { escape(name) }, value)
            });
            map(fields)
        }
    }
}

fn map(fields: impl Iterator<Item = (String, CelValue)>) -> CelValue {
    let fields = fields.map(|(name, value)| (Key::String(Arc::new(name)), value));
    let map: HashMap<_, _> = fields.collect();
    CelValue::Map(Map { map: Arc::new(map) })
}

fn untyped(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => number_to_cel(number, Type::Any),
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(untyped).collect())),
        Value::Object(fields) => map(fields
            .iter()
            .map(|(name, value)| (escape(name), untyped(value)))),
    }
}

/// Fields of type number are doubles, even if they are written as integers.
fn number_to_cel(number: &Number, type_: Type) -> CelValue {
    match number.as_i64() {
        Some(integer) if type_ != Type::Number => CelValue::Int(integer),
        _ => CelValue::Float(number.as_f64().unwrap_or_default()),
    }
}

static TIMESTAMP: LazyLock<Option<Program>> =
    LazyLock::new(|| Program::compile("timestamp(text)").ok());
static DURATION: LazyLock<Option<Program>> =
    LazyLock::new(|| Program::compile("duration(text)").ok());
static BYTES: LazyLock<Option<Program>> =
    LazyLock::new(|| Program::compile("base64.decode(text)").ok());

fn string_to_cel(text: &str, schema: SchemaRef<'_>, functions: &Context<'_>) -> CelValue {
    let plain = CelValue::String(Arc::new(text.to_owned()));
    let (conversion, argument) = match schema.format.as_str() {
        "date-time" => (&TIMESTAMP, text.to_owned()),
        "date" => (&TIMESTAMP, format!("{text}T00:00:00Z")),
        "duration" => (&DURATION, text.to_owned()),
        "byte" => (&BYTES, text.to_owned()),
        _ => return plain,
    };
    let Some(conversion) = conversion.as_ref() else {
        return plain;
    };
    let mut scope = functions.new_inner_scope();
    scope.add_variable_from_value("text", CelValue::String(Arc::new(argument)));
    conversion.execute(&scope).unwrap_or(plain)
}

const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Escapes a field name to a CEL identifier.
fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match character {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            other => out.push(other),
        }
        rest = &rest[character.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_names_as_documented() {
        let cases = [
            ("namespace", "__namespace__"),
            ("x-prop", "x__dash__prop"),
            ("redact__d", "redact__underscores__d"),
            ("a_b", "a_b"),
            ("a.b/c", "a__dot__b__slash__c"),
        ];
        for (name, expected) in cases {
            assert_eq!(escape(name), expected);
        }
    }
}
