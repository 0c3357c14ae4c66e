//! Merges values: maps by key, everything else must be the same.

use serde_json::{Map, Value};

/// A path, and what each side says.
pub(super) type Difference = (String, String, String);

/// The values of both. Where they differ, those of the first are kept and the difference is reported.
pub(super) fn merge(
    first: &Map<String, Value>,
    second: &Map<String, Value>,
    path: &str,
    differences: &mut Vec<Difference>,
) -> Map<String, Value> {
    let mut merged = first.clone();
    for (key, value) in second {
        let path = format!("{path}.{key}");
        match (merged.get_mut(key), value) {
            (None, _) => {
                merged.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(known)), Value::Object(added)) => {
                *known = merge(known, added, &path, differences);
            }
            (Some(known), added) if known == added => {}
            (Some(known), added) => {
                let says = |value: &Value| format!("sets it to {value}");
                differences.push((path, says(known), says(added)));
            }
        }
    }
    merged
}
