//! Equivalence of desired and live values, because the API server normalizes some of them.

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

/// A quantity in millionths.
fn quantity(value: &Value) -> Option<i128> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c));
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let scale: i128 = match suffix {
        "u" => 1,
        "m" => 1_000,
        "" => 1_000_000,
        "k" => 1_000_000_000,
        "M" => 1_000_000_000_000,
        "G" => 1_000_000_000_000_000,
        "T" => 1_000_000_000_000_000_000,
        "Ki" => 1_000_000 << 10,
        "Mi" => 1_000_000 << 20,
        "Gi" => 1_000_000 << 30,
        "Ti" => 1_000_000 << 40,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let digits = u32::try_from(part.len()).ok().filter(|&n| n <= 6)?;
    let part: i128 = if part.is_empty() {
        0
    } else {
        part.parse().ok()?
    };
    let part = part.checked_mul(scale)? / 10_i128.pow(digits);
    whole.checked_mul(scale)?.checked_add(part)
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
