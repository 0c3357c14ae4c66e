//! Types of JSON values, their equality and their encoding.

use serde_json::{Map, Value as Json};

/// The error about a value whose type does not match `type`.
pub(super) fn mismatch(schema: &Map<String, Json>, value: &Json) -> Option<String> {
    let types: Vec<&str> = match schema.get("type") {
        Some(Json::String(only)) => vec![only.as_str()],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => return None,
    };
    let given = name(value);
    let matches =
        |expected: &&str| given == *expected || (given == "integer" && *expected == "number");
    if types.is_empty() || types.iter().any(matches) {
        return None;
    }
    let expected = match types.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(",")),
    };
    Some(format!(
        "Invalid type. Expected: {expected}, given: {given}"
    ))
}

fn name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.as_f64().is_some_and(|x| x.fract() == 0.0) => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// Equality with 1 equal to 1.0.
pub(super) fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            let same = |(key, a): (&String, &Json)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        (a, b) => a == b,
    }
}

/// Encodes JSON as Go does, with `<`, `>` and `&` escaped.
pub(super) fn compact(value: &Json) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
