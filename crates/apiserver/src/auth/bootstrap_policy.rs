//! The bootstrap policy: the default roles and bindings of a cluster.

use serde_json::{Map, Value, json};

/// One object on each line, without the metadata that all have in common.
const OBJECTS: &str = include_str!("bootstrap.jsonl");

/// The roles and bindings that the real server of this version creates.
pub fn bootstrap_objects() -> Vec<Value> {
    OBJECTS
        .lines()
        .filter_map(|line| object(serde_json::from_str(line).ok()?))
        .collect()
}

fn object(line: Value) -> Option<Value> {
    let Value::Object(mut fields) = line else {
        return None;
    };
    let mut labels = match fields.remove("labels") {
        Some(Value::Object(labels)) => labels,
        _ => Map::new(),
    };
    labels.insert(
        "kubernetes.io/bootstrapping".to_owned(),
        "rbac-defaults".into(),
    );
    let mut metadata = json!({
        "name": fields.remove("name")?,
        "labels": labels,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    });
    if let Some(namespace) = fields.remove("namespace") {
        metadata["namespace"] = namespace;
    }
    fields.insert(
        "apiVersion".to_owned(),
        "rbac.authorization.k8s.io/v1".into(),
    );
    fields.insert("metadata".to_owned(), metadata);
    Some(fields.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_default_roles_and_bindings() {
        let objects = bootstrap_objects();
        assert_eq!(objects.len(), OBJECTS.lines().count());
        let count = |kind: &str| {
            objects
                .iter()
                .filter(|object| object["kind"] == kind)
                .count()
        };
        assert_eq!(
            [
                count("ClusterRole"),
                count("ClusterRoleBinding"),
                count("Role"),
                count("RoleBinding")
            ],
            [69, 50, 7, 7]
        );
        for name in [
            "cluster-admin",
            "admin",
            "edit",
            "view",
            "system:discovery",
            "system:auth-delegator",
        ] {
            let found = objects
                .iter()
                .find(|object| object["metadata"]["name"] == name);
            assert!(found.is_some_and(|role| role["rules"].is_array()), "{name}");
        }
    }
}
