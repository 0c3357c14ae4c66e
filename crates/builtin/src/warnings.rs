//! Warnings about objects that are valid but probably not what the client wants: `WarningsOnCreate` and
//! `WarningsOnUpdate` of the strategies.

use serde_json::Value;

use crate::fields::{list, text, texts};
use crate::kinds::Kind;

mod formats;
mod pod;
#[cfg(test)]
mod tests;

/// The warnings of a write through the main resource. An update is warned about what it changes.
pub fn of_write(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<String> {
    if kind.custom.is_some() {
        return finalizers(new, old);
    }
    if old.is_none_or(|old| old["spec"] != new["spec"] || kind.kind == "Namespace")
        && let Some(warning) = without_effect(kind, new, old)
    {
        return vec![warning];
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => formats::unrecognized(new, old),
        ("", "Pod") => pod::of_pod(new, old),
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => pod::of_template("spec.template", new, old),
        ("batch", "CronJob") => pod::of_template("spec.jobTemplate.spec.template", new, old),
        ("", "PodTemplate") => pod::of_template("template", new, old),
        ("networking.k8s.io", "Ingress") if old.is_none() => ingress_class(new),
        _ => Vec::new(),
    }
}

/// Objects that a real server enforces and this one only keeps.
fn without_effect(kind: &Kind, new: &Value, old: Option<&Value>) -> Option<String> {
    let what = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => {
            const LABEL: &str = "pod-security.kubernetes.io/enforce";
            let level = |object: &Value| text(&object["metadata"]["labels"], LABEL).to_owned();
            let is_new = old.is_none_or(|old| level(old) != level(new));
            let level = level(new);
            if !is_new || level.is_empty() || level == "privileged" {
                return None;
            }
            "pod security levels"
        }
        _ => return None,
    };
    Some(format!(
        "this server has no {what}: it only keeps the object"
    ))
}

/// Finalizers of custom resources need no domain.
fn finalizers(new: &Value, old: Option<&Value>) -> Vec<String> {
    const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    let of = |object: &'_ Value| -> Vec<String> {
        texts(list(&object["metadata"], "finalizers"))
            .map(str::to_owned)
            .collect()
    };
    let known = old.map(of).unwrap_or_default();
    let is_unqualified = |name: &String| !name.contains('/') && !STANDARD.contains(&name.as_str());
    let added = of(new).into_iter();
    added
        .filter(|name| is_unqualified(name) && !known.contains(name))
        .map(|name| {
            let path = if name.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            format!(
                "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )
        })
        .collect()
}

fn ingress_class(ingress: &Value) -> Vec<String> {
    const ANNOTATION: &str = "kubernetes.io/ingress.class";
    let has_annotation = ingress["metadata"]["annotations"][ANNOTATION].is_string();
    if has_annotation && text(&ingress["spec"], "ingressClassName").is_empty() {
        return vec![format!(
            "annotation \"{ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
        )];
    }
    Vec::new()
}
