//! Objects and patches in error messages, formatted as Go does.

use serde_json::{Map, Value};

/// The order of the fields of `ObjectMeta`.
const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
const ENTRY: [&str; 7] = [
    "manager",
    "operation",
    "apiVersion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
];

/// A patched object: unpatched structs keep the order of their Go type, the rest is sorted. Only metadata is handled.
pub(super) fn patched(object: &Value, touches_metadata: bool) -> String {
    let Value::Object(fields) = object else {
        return object.to_string();
    };
    let fields = fields.iter().map(|(name, value)| match value {
        Value::Object(metadata) if name == "metadata" && !touches_metadata => {
            (name.as_str(), ordered(metadata, &METADATA))
        }
        value => (name.as_str(), value.to_string()),
    });
    join(fields)
}

fn ordered(fields: &Map<String, Value>, order: &[&str]) -> String {
    let known = order.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields
        .iter()
        .filter(|(name, _)| !order.contains(&name.as_str()));
    join(known.chain(others).map(|(name, value)| {
        let text = match value {
            Value::Array(entries) if name == "managedFields" => {
                let entries = entries.iter().map(|entry| match entry {
                    Value::Object(entry) => ordered(entry, &ENTRY),
                    other => other.to_string(),
                });
                format!("[{}]", entries.collect::<Vec<_>>().join(","))
            }
            value => value.to_string(),
        };
        (name.as_str(), text)
    }))
}

fn join<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields = fields.map(|(name, text)| format!("{}:{text}", Value::from(name)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// A value in Go's `%v` format: `map[spec:map[replicas:many]]`.
pub(super) fn go_map(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(go_map).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", go_map(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_the_field_order_of_unpatched_metadata() {
        let object = json!({"kind": "A", "metadata": {"labels": {}, "name": "a", "uid": "u"}});
        assert_eq!(
            patched(&object, false),
            r#"{"kind":"A","metadata":{"name":"a","uid":"u","labels":{}}}"#
        );
        assert_eq!(patched(&object, true), object.to_string());
    }

    #[test]
    fn formats_maps_as_go_does() {
        let value = json!({"spec": {"replicas": "many", "list": [1, null]}});
        assert_eq!(
            go_map(&value),
            "map[spec:map[list:[1 <nil>] replicas:many]]"
        );
    }
}
