//! Events about what a user has to see in `kubectl describe`. One is recorded for each change of a status, so that their
//! number is bounded.

use serde_json::{Value, json};

use super::object::{name, namespace, uid};
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
