//! The effect of a round trip through the store, whose protobuf does not distinguish empty lists from absent ones.

use outrigger_structural::go_types::{Form, StructId, Type};
use serde_json::{Map, Value};

/// Turns empty lists of a struct into null, unless they are not empty in `old`.
pub(super) fn forget(id: StructId, object: &mut Map<String, Value>, old: &Value) {
    for field in &id.get().fields {
        if let Some(value) = object.get_mut(field.name) {
            forget_value(&field.type_, value, &old[field.name]);
        }
    }
}

fn forget_value(type_: &Type, value: &mut Value, old: &Value) {
    let is_empty_in_old = old.as_array().is_none_or(Vec::is_empty);
    match (&type_.form, &mut *value) {
        (Form::List(_), Value::Array(items)) if items.is_empty() && is_empty_in_old => {
            *value = Value::Null;
        }
        (Form::List(inner), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                forget_value(inner, item, &old[index]);
            }
        }
        (Form::Struct(id) | Form::StructOr(id), Value::Object(map)) => forget(*id, map, old),
        (Form::Map(inner), Value::Object(map)) => {
            for (key, item) in map {
                forget_value(inner, item, &old[key.as_str()]);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::defaults::{complete, forget_empty_lists};
    use crate::kinds::Registry;

    #[test]
    fn keeps_empty_lists_until_the_object_is_stored() {
        let kinds = Registry::default().snapshot();
        let kind = kinds.kind("rbac.authorization.k8s.io", "v1", "Role");
        let kind = kind.unwrap();
        let mut role = json!({"metadata": {"name": "a"}, "rules": []});
        complete(kind, &mut role).unwrap();
        assert_eq!(role["rules"], json!([]));
        forget_empty_lists(kind, &mut role, &json!({"rules": [{"verbs": ["get"]}]}));
        assert_eq!(role["rules"], json!([]));
        forget_empty_lists(kind, &mut role, &json!({"rules": null}));
        assert_eq!(role["rules"], Value::Null);
    }
}
