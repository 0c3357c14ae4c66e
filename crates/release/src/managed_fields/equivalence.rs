//! Equivalence of desired and live values, because the API server normalizes some of them.

use outrigger_apimachinery::quantity::Quantity;
use serde_json::Value;

/// Parts of the paths of fields that are quantities.
const QUANTITY_PATHS: [&str; 9] = [
    ".limits.",
    ".requests.",
    ".capacity.",
    ".hard.",
    ".sizeLimit",
    ".default.",
    ".defaultRequest.",
    ".max.",
    ".min.",
];

pub(super) fn is_equivalent(desired: &Value, live: &Value, path: &str) -> bool {
    if desired == live {
        return true;
    }
    match (desired, live) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Number(_) | Value::String(_), Value::String(_)) => {
            QUANTITY_PATHS.iter().any(|part| path.contains(part)) && is_same_quantity(desired, live)
        }
        (desired, Value::Null) => is_empty_value(desired),
        _ => false,
    }
}

/// Whether a value is empty, so that the API server omits it.
pub(crate) fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty_value),
        _ => false,
    }
}

fn is_same_quantity(desired: &Value, live: &Value) -> bool {
    matches!((quantity(desired), quantity(live)), (Some(a), Some(b)) if a == b)
}

fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        Value::String(text) => Quantity::parse(text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_equivalent_by_value_and_only_in_quantity_fields() {
        let cpu = ".spec.containers[0].resources.limits.cpu";
        assert!(is_equivalent(&json!("0.5"), &json!("500m"), cpu));
        assert!(is_equivalent(&json!(1), &json!("1"), cpu));
        assert!(is_equivalent(&json!("1024Mi"), &json!("1Gi"), cpu));
        assert!(!is_equivalent(&json!("1"), &json!("2"), cpu));
        let variable = ".spec.containers[0].env[0].value";
        assert!(!is_equivalent(&json!("1000m"), &json!("1"), variable));
    }

    #[test]
    fn empty_values_are_equivalent_to_absent_ones() {
        assert!(is_equivalent(&json!({}), &Value::Null, ".spec.podSelector"));
        assert!(is_equivalent(
            &json!({"a": [], "b": {"c": ""}}),
            &Value::Null,
            ".spec"
        ));
        assert!(!is_equivalent(&json!({"a": 1}), &Value::Null, ".spec"));
    }
}
