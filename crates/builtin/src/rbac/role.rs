//! Role and `ClusterRole`.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use serde_json::Value;

use crate::fields::list;
use crate::validation::label_selector;

pub(crate) fn validate_role(object: &Value, errors: &mut Vec<Error>) {
    validate_rules(errors, object, true);
}

pub(crate) fn validate_cluster_role(object: &Value, errors: &mut Vec<Error>) {
    validate_rules(errors, object, false);
    if !object["aggregationRule"].is_object() {
        return;
    }
    let field = Path::root("aggregationRule");
    let field = field.child("clusterRoleSelectors");
    let selectors = list(&object["aggregationRule"], "clusterRoleSelectors");
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(Error::required(&field, detail));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let field = field.index(index);
        let before = errors.len();
        label_selector::validate(errors, &field, selector);
        if errors.len() > before {
            let bad_value = BadValue::verbatim("null");
            errors.push(Error::invalid(&field, bad_value, "invalid label selector."));
        }
    }
}

fn validate_rules(errors: &mut Vec<Error>, object: &Value, is_namespaced: bool) {
    let path = Path::root("rules");
    for (index, rule) in list(object, "rules").iter().enumerate() {
        let field = path.index(index);
        let has = |key: &str| !list(rule, key).is_empty();
        if !has("verbs") {
            let detail = "verbs must contain at least one value";
            errors.push(Error::required(&field.child("verbs"), detail));
        }
        let urls = &rule["nonResourceURLs"];
        let on_urls = field.child("nonResourceURLs");
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
            errors.push(Error::required(&field.child("apiGroups"), detail));
        }
        if !has("resources") {
            let detail = "resource rules must supply at least one resource";
            errors.push(Error::required(&field.child("resources"), detail));
        }
    }
}
