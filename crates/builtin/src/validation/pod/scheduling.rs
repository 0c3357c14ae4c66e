//! Where a Pod may run: affinity, tolerations, spreading.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::super::field_checks::{each, list, one_of, text};
use super::super::selector;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn affinity(errors: &mut Vec<Error>, path: &Path<'_>, affinity: &Value) {
    node_affinity(
        errors,
        &path.child("nodeAffinity"),
        &affinity["nodeAffinity"],
    );
    for key in ["podAffinity", "podAntiAffinity"] {
        pod_affinity(errors, &path.child(key), &affinity[key]);
    }
}

fn node_affinity(errors: &mut Vec<Error>, path: &Path<'_>, affinity: &Value) {
    let needed = &affinity[REQUIRED];
    if needed.is_object() {
        node_selector(errors, &path.child(REQUIRED), needed);
    }
    let place = path.child(PREFERRED);
    for (index, term) in list(affinity, PREFERRED).iter().enumerate() {
        let place = place.index(index);
        weight(errors, &place, term);
        node_term(errors, &place.child("preference"), &term["preference"]);
    }
}

fn weight(errors: &mut Vec<Error>, path: &Path<'_>, term: &Value) {
    let weight = term["weight"].as_i64().unwrap_or_default();
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(Error::invalid(&path.child("weight"), weight, detail));
    }
}

/// A selector of nodes; volumes have one too.
pub(in super::super) fn node_selector(errors: &mut Vec<Error>, path: &Path<'_>, selector: &Value) {
    let place = path.child("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        let detail = "must have at least one node selector term";
        errors.push(Error::required(&place, detail));
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(errors, &place.index(index), term);
    }
}

fn node_term(errors: &mut Vec<Error>, path: &Path<'_>, term: &Value) {
    let place = path.child("matchExpressions");
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        selector::requirement(errors, &place.index(index), expression, &["Gt", "Lt"]);
    }
}

fn pod_affinity(errors: &mut Vec<Error>, path: &Path<'_>, affinity: &Value) {
    let place = path.child(REQUIRED);
    for (index, term) in list(affinity, REQUIRED).iter().enumerate() {
        pod_term(errors, &place.index(index), term);
    }
    let place = path.child(PREFERRED);
    for (index, term) in list(affinity, PREFERRED).iter().enumerate() {
        let place = place.index(index);
        weight(errors, &place, term);
        pod_term(
            errors,
            &place.child("podAffinityTerm"),
            &term["podAffinityTerm"],
        );
    }
}

fn pod_term(errors: &mut Vec<Error>, path: &Path<'_>, term: &Value) {
    for key in ["labelSelector", "namespaceSelector"] {
        selector::check(errors, &path.child(key), &term[key]);
    }
    let key = text(term, "topologyKey");
    let place = path.child("topologyKey");
    if key.is_empty() {
        errors.push(Error::required(&place, "can not be empty"));
    }
    each(errors, &place, key, syntax::label_key(key));
}

pub(super) fn tolerations(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let place = path.index(index);
        let key = text(toleration, "key");
        let operator = text(toleration, "operator");
        if !key.is_empty() {
            each(errors, &place.child("key"), key, syntax::label_key(key));
        } else if operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(Error::invalid(&place.child("operator"), operator, detail));
        }
        let effect = text(toleration, "effect");
        if toleration["tolerationSeconds"].is_number() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(Error::invalid(&place.child("effect"), effect, detail));
        }
        let value = text(toleration, "value");
        let on_operator = place.child("operator");
        match operator {
            "" | "Equal" => {
                let problems = syntax::label_value(value);
                if !problems.is_empty() {
                    errors.push(Error::invalid(&on_operator, value, problems.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(Error::invalid(&on_operator, value, detail));
            }
            "Exists" => {}
            other => errors.push(Error::not_supported(
                &on_operator,
                other,
                &["Equal", "Exists"],
            )),
        }
        if !effect.is_empty() {
            let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            one_of(errors, &place.child("effect"), effect, &effects);
        }
    }
}

pub(super) fn spread(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (index, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let place = path.index(index);
        let skew = constraint["maxSkew"].as_i64().unwrap_or_default();
        if skew <= 0 {
            let detail = "must be greater than zero";
            errors.push(Error::invalid(&place.child("maxSkew"), skew, detail));
        }
        if text(constraint, "topologyKey").is_empty() {
            let place = place.child("topologyKey");
            errors.push(Error::required(&place, "can not be empty"));
        }
        one_of(
            errors,
            &place.child("whenUnsatisfiable"),
            text(constraint, "whenUnsatisfiable"),
            &["DoNotSchedule", "ScheduleAnyway"],
        );
        let place = place.child("labelSelector");
        selector::check(errors, &place, &constraint["labelSelector"]);
    }
}
