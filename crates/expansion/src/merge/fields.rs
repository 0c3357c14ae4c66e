//! Nested fields of JSON objects, by their path.

use serde_json::{Map, Value};

/// The value at a path. Null is missing.
pub(super) fn get<'v>(document: &'v Value, path: &[String]) -> Option<&'v Value> {
    let mut value = document;
    for key in path {
        value = value.get(key)?;
    }
    (!value.is_null()).then_some(value)
}

/// Sets the value at a path. Objects on the way are made.
pub(super) fn set(document: &mut Value, path: &[String], value: Value) {
    let Some((key, rest)) = path.split_first() else {
        *document = value;
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    if let Some(fields) = document.as_object_mut() {
        set(
            fields.entry(key.clone()).or_insert(Value::Null),
            rest,
            value,
        );
    }
}

/// The key of an object that equals a name, whatever the case: so Go decodes fields. The name itself if there is none.
pub(super) fn key_like<'v>(object: Option<&'v Value>, name: &'v str) -> &'v str {
    let fields = object.and_then(Value::as_object);
    let mut keys = fields.into_iter().flat_map(Map::keys);
    keys.find(|key| key.eq_ignore_ascii_case(name))
        .map_or(name, String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn fields_are_read_and_written_by_path() {
        let mut document = json!({"spec": {"features": null, "version": "1"}});
        assert_eq!(get(&document, &path(&["spec", "features"])), None);
        assert_eq!(get(&document, &path(&["spec", "features", "files"])), None);
        set(
            &mut document,
            &path(&["spec", "features", "files"]),
            json!([1]),
        );
        set(&mut document, &path(&["Config", "skipSteps"]), json!([]));
        let expected = json!({"spec": {"features": {"files": [1]}, "version": "1"}, "Config": {"skipSteps": []}});
        assert_eq!(document, expected);
        assert_eq!(key_like(Some(&json!({"config": 1})), "Config"), "config");
        assert_eq!(key_like(Some(&json!({})), "Config"), "Config");
    }
}
