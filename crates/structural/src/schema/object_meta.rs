//! The schema of `ObjectMeta`.

use serde_json::{Value, json};

/// The schema of `metadata`, which `CustomResourceDefinitions` do not declare.
pub(super) fn schema() -> Value {
    let string = json!({"type": "string"});
    let time = json!({"type": "string", "format": "date-time"});
    let integer = json!({"type": "integer", "format": "int64"});
    let boolean = json!({"type": "boolean"});
    let strings = json!({"type": "object", "additionalProperties": string});
    let owner = json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": string, "kind": string, "name": string,
            "uid": {"type": "string", "default": ""},
            "blockOwnerDeletion": boolean, "controller": boolean,
        },
    });
    let managed = json!({
        "type": "object",
        "properties": {
            "apiVersion": string, "fieldsType": string, "fieldsV1": {"type": "object"},
            "manager": string, "operation": string, "subresource": string, "time": time,
        },
    });
    json!({
        "type": "object",
        "properties": {
            "annotations": strings,
            "creationTimestamp": time,
            "deletionGracePeriodSeconds": integer,
            "deletionTimestamp": time,
            "finalizers": {
                "type": "array", "items": string,
                "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge",
            },
            "generateName": string,
            "generation": integer,
            "labels": strings,
            "managedFields": {"type": "array", "items": managed},
            "name": string,
            "namespace": string,
            "ownerReferences": {
                "type": "array", "items": owner,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
            },
            "resourceVersion": string,
            "selfLink": string,
            "uid": string,
        },
    })
}
