//! The metadata that every resource has.

use serde_json::{Value, json};

/// The schema of `metadata`, which custom resource definitions do not spell out.
pub(super) fn schema() -> Value {
    let text = json!({"type": "string"});
    let time = json!({"type": "string", "format": "date-time"});
    let integer = json!({"type": "integer", "format": "int64"});
    let boolean = json!({"type": "boolean"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let owner = json!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": text, "kind": text, "name": text,
            "uid": {"type": "string", "default": ""},
            "blockOwnerDeletion": boolean, "controller": boolean,
        },
    });
    let managed = json!({
        "type": "object",
        "properties": {
            "apiVersion": text, "fieldsType": text, "fieldsV1": {"type": "object"},
            "manager": text, "operation": text, "subresource": text, "time": time,
        },
    });
    json!({
        "type": "object",
        "properties": {
            "annotations": texts,
            "creationTimestamp": time,
            "deletionGracePeriodSeconds": integer,
            "deletionTimestamp": time,
            "finalizers": {
                "type": "array", "items": text,
                "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge",
            },
            "generateName": text,
            "generation": integer,
            "labels": texts,
            "managedFields": {"type": "array", "items": managed},
            "name": text,
            "namespace": text,
            "ownerReferences": {
                "type": "array", "items": owner,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
            },
            "resourceVersion": text,
            "selfLink": text,
            "uid": text,
        },
    })
}
