//! Roles and what binds them to users.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{each, list, one_of, required, text};
use super::selector;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn role(object: &Value, errors: &mut Vec<Error>) {
    rules(errors, object, true);
}

pub(super) fn cluster_role(object: &Value, errors: &mut Vec<Error>) {
    rules(errors, object, false);
    if !object["aggregationRule"].is_object() {
        return;
    }
    let place = Path::root("aggregationRule");
    let place = place.child("clusterRoleSelectors");
    let selectors = list(&object["aggregationRule"], "clusterRoleSelectors");
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(Error::required(&place, detail));
    }
    for (index, chosen) in selectors.iter().enumerate() {
        let place = place.index(index);
        let before = errors.len();
        selector::check(errors, &place, chosen);
        if errors.len() > before {
            let shown = BadValue::verbatim("null");
            errors.push(Error::invalid(&place, shown, "invalid label selector."));
        }
    }
}

fn rules(errors: &mut Vec<Error>, object: &Value, is_namespaced: bool) {
    let path = Path::root("rules");
    for (index, rule) in list(object, "rules").iter().enumerate() {
        let place = path.index(index);
        let has = |key: &str| !list(rule, key).is_empty();
        if !has("verbs") {
            let detail = "verbs must contain at least one value";
            errors.push(Error::required(&place.child("verbs"), detail));
        }
        let urls = &rule["nonResourceURLs"];
        let on_urls = place.child("nonResourceURLs");
        if has("nonResourceURLs") {
            if is_namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.push(Error::invalid(&on_urls, urls, detail));
            }
            if has("apiGroups") || has("resources") || has("resourceNames") {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(Error::invalid(&on_urls, urls, detail));
            }
            continue;
        }
        if !has("apiGroups") {
            let detail = "resource rules must supply at least one api group";
            errors.push(Error::required(&place.child("apiGroups"), detail));
        }
        if !has("resources") {
            let detail = "resource rules must supply at least one resource";
            errors.push(Error::required(&place.child("resources"), detail));
        }
    }
}

pub(super) fn role_binding(object: &Value, errors: &mut Vec<Error>) {
    role_reference(errors, object, &["Role", "ClusterRole"]);
    subjects(errors, object, true);
}

pub(super) fn cluster_role_binding(object: &Value, errors: &mut Vec<Error>) {
    role_reference(errors, object, &["ClusterRole"]);
    subjects(errors, object, false);
}

fn role_reference(errors: &mut Vec<Error>, object: &Value, kinds: &[&str]) {
    let reference = &object["roleRef"];
    let path = Path::root("roleRef");
    let group = text(reference, "apiGroup");
    one_of(errors, &path.child("apiGroup"), group, &[GROUP]);
    one_of(errors, &path.child("kind"), text(reference, "kind"), kinds);
    let name = text(reference, "name");
    if required(errors, &path.child("name"), name) {
        each(
            errors,
            &path.child("name"),
            name,
            syntax::path_segment(name),
        );
    }
}

fn subjects(errors: &mut Vec<Error>, object: &Value, is_namespaced: bool) {
    let path = Path::root("subjects");
    for (index, subject) in list(object, "subjects").iter().enumerate() {
        let place = path.index(index);
        let name = text(subject, "name");
        required(errors, &place.child("name"), name);
        let group = text(subject, "apiGroup");
        let on_group = place.child("apiGroup");
        match text(subject, "kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    let problems = syntax::dns1123_subdomain(name);
                    each(errors, &place.child("name"), name, problems);
                }
                if !group.is_empty() {
                    errors.push(Error::not_supported(&on_group, group, &[""]));
                }
                if !is_namespaced && text(subject, "namespace").is_empty() {
                    errors.push(Error::required(&place.child("namespace"), ""));
                }
            }
            "User" | "Group" => {
                if group != GROUP {
                    errors.push(Error::not_supported(&on_group, group, &[GROUP]));
                }
            }
            other => {
                let kinds = ["ServiceAccount", "User", "Group"];
                errors.push(Error::not_supported(&place.child("kind"), other, &kinds));
            }
        }
    }
}

/// A binding stays with its role: what it grants must not change silently.
pub(super) fn binding_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (&new["roleRef"], &old["roleRef"]);
    if new != old {
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            new["apiGroup"], new["kind"], new["name"]
        );
        let shown = BadValue::verbatim(shown);
        let detail = "cannot change roleRef";
        errors.push(Error::invalid(&Path::root("roleRef"), shown, detail));
    }
}
