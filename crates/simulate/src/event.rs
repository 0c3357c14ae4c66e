//! Events about what a user has to see in `kubectl describe`. One is recorded for each change of a status, so that their
//! number is bounded.

use serde_json::{Value, json};

use super::object::{compute_hash, name, namespace, uid};
use super::plan::{Action, Context};

/// Records a warning about an object.
pub(super) fn warning(
    (api_version, kind): (&str, &str),
    object: &Value,
    (component, reason): (&str, &str),
    message: &str,
    ctx: &Context<'_>,
) -> Action {
    Action::Record(json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": format!("{}.", name(object)), "namespace": namespace(object)},
        "involvedObject": {
            "apiVersion": api_version, "kind": kind, "namespace": namespace(object), "name": name(object),
            "uid": uid(object), "resourceVersion": object["metadata"]["resourceVersion"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "count": 1,
        "firstTimestamp": ctx.time(),
        "lastTimestamp": ctx.time(),
        "source": {"component": component},
    }))
}

/// The same, but only one for each message about an object: another one has the same name, and so is not stored.
pub(super) fn warning_once(
    kind: (&str, &str),
    object: &Value,
    source: (&str, &str),
    message: &str,
    ctx: &Context<'_>,
) -> Action {
    let mut action = warning(kind, object, source, message, ctx);
    if let Action::Record(event) = &mut action {
        let hash = compute_hash(&json!([uid(object), message]));
        event["metadata"]["name"] = format!("{}.{hash}", name(object)).into();
    }
    action
}
