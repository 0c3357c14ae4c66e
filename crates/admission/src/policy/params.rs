//! The parameters of a binding.

use outrigger_builtin::fields::text;
use outrigger_builtin::selector::LabelSelector;
use serde_json::Value;

use crate::{ClusterState, ParamKind};

/// The objects that a policy is evaluated with; null without parameters.
pub(super) fn collect(
    spec: &Value,
    binding: &Value,
    request_namespace: &str,
    cluster: &dyn ClusterState,
) -> Result<Vec<Value>, String> {
    let kind = &spec["paramKind"];
    let reference = &binding["spec"]["paramRef"];
    if kind.is_null() || reference.is_null() {
        return Ok(vec![Value::Null]);
    }
    let kind = ParamKind {
        api_version: text(kind, "apiVersion"),
        kind: text(kind, "kind"),
    };
    let Some(is_namespaced) = cluster.is_namespaced(kind) else {
        return Err(format!(
            "failed to find resource referenced by paramKind: '{}, Kind={}'",
            kind.api_version, kind.kind
        ));
    };
    let namespace = match (is_namespaced, text(reference, "namespace")) {
        (true, "") if request_namespace.is_empty() => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            );
        }
        (true, "") => request_namespace,
        (true, namespace) => namespace,
        (false, "") => "",
        (false, _) => {
            return Err("cannot use namespaced paramRef for cluster-scoped paramKind".to_owned());
        }
    };
    let name = text(reference, "name");
    let mut found = cluster.params(kind, namespace);
    if name.is_empty() {
        let selector = LabelSelector::of_object(&reference["selector"]);
        found.retain(|object| {
            let labels = object["metadata"]["labels"].as_object();
            selector
                .as_ref()
                .is_some_and(|selector| selector.matches(labels))
        });
    } else {
        found.retain(|object| text(&object["metadata"], "name") == name);
    }
    if found.is_empty() && text(reference, "parameterNotFoundAction") != "Allow" {
        return Err(
            "no params found for policy binding with `Deny` parameterNotFoundAction".to_owned(),
        );
    }
    Ok(found)
}
