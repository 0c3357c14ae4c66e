//! Leaves the fields of other managers out of a desired object, so that an apply does not conflict with them.

use serde_json::Value;

use super::{compare, other_manager};

/// The desired object without the fields that another manager owns and has set to another value.
pub(crate) fn without_foreign_fields(desired: &Value, live: &Value) -> Value {
    let comparison = compare(desired, live, None);
    let foreign = comparison.unowned.iter().filter(|change| {
        change.before.is_some()
            && change.before != change.after
            && other_manager(live, &change.fields_v1_path).is_some()
    });
    let mut object = desired.clone();
    for change in foreign {
        omit(&mut object, &change.fields_v1_path);
    }
    object
}

/// Removes the value at a path of `fieldsV1`.
fn omit(value: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    match (value, first.split_once(':')) {
        (Value::Object(map), Some(("f", key))) if rest.is_empty() => {
            map.remove(key);
        }
        (Value::Object(map), Some(("f", key))) => {
            if let Some(inner) = map.get_mut(key) {
                omit(inner, rest);
            }
        }
        (Value::Array(items), Some((kind @ ("k" | "v"), text))) => {
            let Ok(wanted) = serde_json::from_str::<Value>(text) else {
                return;
            };
            let is_wanted = |item: &Value| match (kind, &wanted) {
                ("k", Value::Object(keys)) => keys.iter().all(|(key, value)| item[key] == *value),
                _ => *item == wanted,
            };
            if rest.is_empty() {
                items.retain(|item| !is_wanted(item));
            } else if let Some(item) = items.iter_mut().find(|item| is_wanted(item)) {
                omit(item, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_another_manager_changed_are_left_out() {
        let desired = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "web", "image": "a:1", "tty": true}]}}},
        });
        let live = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "managedFields": [
                {"manager": "helm", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {
                    "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:tty": {}}}}},
                }}},
                {"manager": "kubectl-edit", "operation": "Update", "apiVersion": "apps/v1", "fieldsV1": {"f:spec": {
                    "f:replicas": {},
                    "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}},
                }}},
            ]},
            "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "web", "image": "a:2", "tty": true}]}}},
        });
        let kept = without_foreign_fields(&desired, &live);
        let expected =
            json!({"template": {"spec": {"containers": [{"name": "web", "tty": true}]}}});
        assert_eq!(kept["spec"], expected);
        // What nobody else changed stays.
        let mut same = live;
        same["spec"] = desired["spec"].clone();
        assert_eq!(without_foreign_fields(&desired, &same), desired);
    }
}
