//! `DefaultTolerationSeconds`: Pods tolerate failing nodes for five minutes.

use serde_json::{Value, json};

const TOLERATION_SECONDS: i64 = 300;

/// Adds the default tolerations of failing nodes, unless the Pod has its own.
pub(super) fn mutate(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is_tolerated = tolerations.iter().any(|toleration| {
            let covers = |field: &str, value: &str| {
                let given = toleration[field].as_str().unwrap_or_default();
                given == value || given.is_empty()
            };
            covers("key", key) && covers("effect", "NoExecute")
        });
        if !is_tolerated {
            tolerations.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}
