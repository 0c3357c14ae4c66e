//! `MatchResources`: which requests a policy or a binding is about.

use outrigger_builtin::fields::{list, text, texts};
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::selector::LabelSelector;
use serde_json::Value;

use super::Request;

/// Constraints that are absent match everything.
pub(super) fn matches(constraints: &Value, request: &Request<'_>) -> bool {
    if constraints.is_null() {
        return true;
    }
    let is_excluded = list(constraints, "excludeResourceRules")
        .iter()
        .any(|rule| rule_matches(rule, constraints, request));
    let rules = list(constraints, "resourceRules");
    let is_included = rules.is_empty()
        || rules
            .iter()
            .any(|rule| rule_matches(rule, constraints, request));
    !is_excluded
        && is_included
        && namespace_matches(&constraints["namespaceSelector"], request)
        && object_matches(&constraints["objectSelector"], request)
}

fn rule_matches(rule: &Value, constraints: &Value, request: &Request<'_>) -> bool {
    let attributes = request.attributes;
    let kind = attributes.kind;
    let has = |key: &str, wanted: &str| {
        texts(list(rule, key)).any(|entry| entry == "*" || entry == wanted)
    };
    // Other versions of the same resource are equivalent.
    let is_equivalent = text(constraints, "matchPolicy") != "Exact";
    let names = list(rule, "resourceNames");
    let scope_matches = match text(rule, "scope") {
        "Cluster" => attributes.namespace.is_empty(),
        "Namespaced" => !attributes.namespace.is_empty(),
        _ => true,
    };
    scope_matches
        && has("operations", attributes.operation.name())
        && has("apiGroups", &kind.group)
        && (is_equivalent || has("apiVersions", &kind.version))
        && texts(list(rule, "resources"))
            .any(|entry| resource_matches(entry, kind, attributes.subresource))
        && (names.is_empty() || texts(names).any(|name| name == request.name()))
}

/// Entries are `pods`, `pods/status`, `pods/*`, `*/status`, `*` for all resources, or `*/*` for all subresources too.
fn resource_matches(entry: &str, kind: &Kind, subresource: &str) -> bool {
    let (resource, wanted) = entry.split_once('/').unwrap_or((entry, ""));
    (resource == "*" || resource == kind.plural) && (wanted == subresource || wanted == "*")
}

fn selects(selector: &Value, object: &Value) -> bool {
    let labels = object["metadata"]["labels"].as_object();
    LabelSelector::of_object(selector).is_some_and(|selector| selector.matches(labels))
}

/// Whether a selector is absent or selects everything.
fn is_open(selector: &Value) -> bool {
    selector.is_null()
        || LabelSelector::of_object(selector).is_some_and(|selector| selector.is_empty())
}

/// A namespace is selected by its own labels; other objects outside of namespaces always match.
fn namespace_matches(selector: &Value, request: &Request<'_>) -> bool {
    if is_open(selector) {
        return true;
    }
    let kind = request.attributes.kind;
    if kind.group.is_empty() && kind.kind == "Namespace" {
        let namespace = if request.object.is_null() {
            request.old
        } else {
            request.object
        };
        return selects(selector, namespace);
    }
    request.info.namespace.is_null() || selects(selector, &request.info.namespace)
}

/// The new or the old object is selected.
fn object_matches(selector: &Value, request: &Request<'_>) -> bool {
    is_open(selector)
        || [request.object, request.old]
            .iter()
            .any(|object| !object.is_null() && selects(selector, object))
}
