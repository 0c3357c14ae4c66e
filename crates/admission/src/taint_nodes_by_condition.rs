//! `TaintNodesByCondition`: a new node is not ready.

use outrigger_builtin::fields::object_mut;
use serde_json::{Value, json};

/// Taints a new node as not ready.
pub(super) fn mutate(node: &mut Value) {
    let Some(spec) = node
        .as_object_mut()
        .and_then(|node| object_mut(node, "spec"))
    else {
        return;
    };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    if let Some(taints) = taints.as_array_mut() {
        const KEY: &str = "node.kubernetes.io/not-ready";
        if !taints
            .iter()
            .any(|taint| taint["key"] == KEY && taint["effect"] == "NoSchedule")
        {
            taints.push(json!({"key": KEY, "effect": "NoSchedule"}));
        }
    }
}
