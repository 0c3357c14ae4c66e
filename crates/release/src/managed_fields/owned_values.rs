//! The values of the fields that we own by server-side apply.

use serde_json::{Map, Value, json};

use super::applied_entry;

/// The fields that we own, with their values. It changes whenever someone changes one of them, whoever that is, and
/// only then.
pub fn owned_values(live: &Value) -> Option<Value> {
    let fields = &applied_entry(live)?["fieldsV1"];
    Some(json!({"fieldsV1": fields, "values": project(live, fields)}))
}

/// The part of a value that a node of `fieldsV1` covers.
fn project(value: &Value, fields: &Value) -> Value {
    let children = fields.as_object().into_iter().flatten();
    let mut children = children.filter(|(name, _)| *name != ".").peekable();
    if children.peek().is_none() {
        return value.clone();
    }
    let projected = children.map(|(name, fields)| {
        let child = match name.split_once(':') {
            Some(("f", key)) => &value[key],
            Some(("k", keys)) => item(value, keys),
            // The name has the value of an element of a set.
            _ => &Value::Null,
        };
        (name.clone(), project(child, fields))
    });
    Value::Object(projected.collect::<Map<_, _>>())
}

/// The item of a list with these keys.
fn item<'a>(list: &'a Value, keys: &str) -> &'a Value {
    let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
    let mut items = list.as_array().into_iter().flatten();
    let found = items.find(|item| keys.iter().all(|(key, value)| item[key] == *value));
    found.unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(image: &str, replicas: u32, ready: u32) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "managedFields": [
                {"manager": "helm", "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z",
                 "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {
                    "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}},
                 }}}}}},
            ]},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [
                {"name": "side"}, {"name": "web", "image": image},
            ]}}},
            "status": {"readyReplicas": ready},
        })
    }

    #[test]
    fn only_values_of_owned_fields_count() {
        let before = owned_values(&deployment("a:1", 1, 0));
        assert!(before.is_some());
        assert_eq!(owned_values(&deployment("a:1", 5, 5)), before);
        assert_ne!(owned_values(&deployment("a:2", 1, 0)), before);
        assert_eq!(owned_values(&json!({"metadata": {}})), None);
    }
}
