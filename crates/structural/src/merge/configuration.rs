//! Merges the apply configuration of a mutating admission policy into an object. The policy owns no fields.

use serde_json::Value;

use super::atom;
use super::typed_merge::merge;
use super::validate::{Duplicates, validate};
use crate::schema::{Schema, SchemaRef, Type};

/// Merges a configuration, which must not contain atomic lists or maps.
///
/// # Errors
/// The configuration or the object does not conform to the schema; the message is that of kube-apiserver.
pub fn merge_configuration(
    schema: &Schema,
    live: &Value,
    configuration: &Value,
) -> Result<Value, String> {
    let root = schema.root();
    let typed = |which: &str, object: &Value, duplicates: Duplicates| {
        validate(root, object, duplicates)
            .map_err(|errors| format!("failed to convert {which} object to typed object: {errors}"))
    };
    typed("patch", configuration, Duplicates::Rejected)?;
    let mut atomics = Vec::new();
    find_atomics(root, configuration, &mut String::new(), &mut atomics);
    if !atomics.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.join(", ")
        ));
    }
    typed("original", live, Duplicates::Allowed)?;
    Ok(merge(root, live, configuration))
}

/// Collects the paths of atomic lists and maps. The values of maps, in contrast to fields, are not searched.
fn find_atomics(
    schema: SchemaRef<'_>,
    value: &Value,
    path: &mut String,
    atomics: &mut Vec<String>,
) {
    let length = path.len();
    match value {
        Value::Object(fields) if matches!(schema.type_, Type::Object | Type::Any) => {
            if schema.atomic_map {
                atomics.push(path.clone());
            }
            for (name, value) in fields {
                if atom::is_declared(schema, name)
                    && let Some(field) = atom::field(schema, name)
                {
                    path.push('.');
                    path.push_str(name);
                    find_atomics(field, value, path, atomics);
                    path.truncate(length);
                }
            }
        }
        Value::Array(items) if matches!(schema.type_, Type::Array | Type::Any) => {
            if atom::is_atomic_list(schema) {
                atomics.push(path.clone());
            }
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                find_atomics(atom::item(schema), item, path, atomics);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::builtin;

    fn merged(configuration: &Value) -> Result<Value, String> {
        let schema = builtin::schema("apps/v1", "Deployment").unwrap();
        let live = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "labels": {"a": "b"}},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
        });
        merge_configuration(schema, &live, configuration)
    }

    #[test]
    fn merges_maps_and_lists_with_keys() {
        let configuration = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"labels": {"c": "d"}},
            "spec": {"template": {"spec": {"containers": [{"name": "s"}, {"name": "c", "tty": true}]}}},
        });
        let object = merged(&configuration).unwrap();
        assert_eq!(object["metadata"]["labels"], json!({"a": "b", "c": "d"}));
        let containers = &object["spec"]["template"]["spec"]["containers"];
        let expected = json!([{"name": "s"}, {"name": "c", "image": "i", "tty": true}]);
        assert_eq!(*containers, expected);
    }

    #[test]
    fn rejects_atomic_lists_and_unknown_fields() {
        let configuration = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "c", "command": ["a"]},
        ]}}}});
        assert_eq!(
            merged(&configuration).unwrap_err(),
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].command"
        );
        let unknown = json!({"spec": {"replica": 1}});
        let why = merged(&unknown).unwrap_err();
        assert!(
            why.ends_with(".spec.replica: field not declared in schema"),
            "{why}"
        );
    }
}
