//! Comparison of JSON values as in structured-merge-diff: `1` and `1.0` are equal.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// Total order: numbers, strings, booleans, lists, maps, null.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => compare_lists(a, b),
        (Value::Object(a), Value::Object(b)) => compare_maps(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are equal, with integers and floats compared as numbers.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// The Go type of a decoded value, as `%T` formats it.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    if let (Some(a), Some(b)) = (a.as_u64(), b.as_u64()) {
        return a.cmp(&b);
    }
    let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn compare_lists(a: &[Value], b: &[Value]) -> Ordering {
    let items = a.iter().zip(b).map(|(a, b)| compare(a, b));
    items
        .fold(Ordering::Equal, Ordering::then)
        .then(a.len().cmp(&b.len()))
}

fn compare_maps(a: &Map<String, Value>, b: &Map<String, Value>) -> Ordering {
    let fields = a
        .iter()
        .zip(b)
        .map(|((a_name, a), (b_name, b))| a_name.cmp(b_name).then_with(|| compare(a, b)));
    fields
        .fold(Ordering::Equal, Ordering::then)
        .then(a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compares_integers_and_floats_as_numbers() {
        assert!(equal(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert_eq!(compare(&json!(2), &json!(1.5)), Ordering::Greater);
        assert_eq!(compare(&json!(true), &json!("true")), Ordering::Greater);
    }
}
