//! Validation of affinity, tolerations and topology spread constraints.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, text};
use crate::validation::field_checks::{push_invalid, validate_enum};
use crate::validation::label_selector;

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
    let field = path.child(PREFERRED);
    for (index, term) in list(affinity, PREFERRED).iter().enumerate() {
        let field = field.index(index);
        weight(errors, &field, term);
        node_term(errors, &field.child("preference"), &term["preference"]);
    }
}

fn weight(errors: &mut Vec<Error>, path: &Path<'_>, term: &Value) {
    let weight = term["weight"].as_i64().unwrap_or_default();
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(Error::invalid(&path.child("weight"), weight, detail));
    }
}

/// Validates a node selector, which `PersistentVolumes` have too.
pub(in super::super) fn node_selector(errors: &mut Vec<Error>, path: &Path<'_>, selector: &Value) {
    let field = path.child("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        let detail = "must have at least one node selector term";
        errors.push(Error::required(&field, detail));
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(errors, &field.index(index), term);
    }
}

fn node_term(errors: &mut Vec<Error>, path: &Path<'_>, term: &Value) {
    let field = path.child("matchExpressions");
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        label_selector::validate_requirement(
            errors,
            &field.index(index),
            expression,
            &["Gt", "Lt"],
        );
    }
}

fn pod_affinity(errors: &mut Vec<Error>, path: &Path<'_>, affinity: &Value) {
    let field = path.child(REQUIRED);
    for (index, term) in list(affinity, REQUIRED).iter().enumerate() {
        pod_term(errors, &field.index(index), term);
    }
    let field = path.child(PREFERRED);
    for (index, term) in list(affinity, PREFERRED).iter().enumerate() {
        let field = field.index(index);
        weight(errors, &field, term);
        pod_term(
            errors,
            &field.child("podAffinityTerm"),
            &term["podAffinityTerm"],
        );
    }
}

fn pod_term(errors: &mut Vec<Error>, path: &Path<'_>, term: &Value) {
    for key in ["labelSelector", "namespaceSelector"] {
        label_selector::validate(errors, &path.child(key), &term[key]);
    }
    let key = text(term, "topologyKey");
    let field = path.child("topologyKey");
    if key.is_empty() {
        errors.push(Error::required(&field, "can not be empty"));
    }
    push_invalid(errors, &field, key, syntax::label_key(key));
}

pub(super) fn tolerations(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let field = path.index(index);
        let key = text(toleration, "key");
        let operator = text(toleration, "operator");
        if !key.is_empty() {
            push_invalid(errors, &field.child("key"), key, syntax::label_key(key));
        } else if operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(Error::invalid(&field.child("operator"), operator, detail));
        }
        let effect = text(toleration, "effect");
        if toleration["tolerationSeconds"].is_number() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(Error::invalid(&field.child("effect"), effect, detail));
        }
        let value = text(toleration, "value");
        let on_operator = field.child("operator");
        match operator {
            "" | "Equal" => {
                let messages = syntax::label_value(value);
                if !messages.is_empty() {
                    errors.push(Error::invalid(&on_operator, value, messages.join(";")));
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
            validate_enum(errors, &field.child("effect"), effect, &effects);
        }
    }
}

pub(super) fn spread(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    for (index, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let field = path.index(index);
        let skew = constraint["maxSkew"].as_i64().unwrap_or_default();
        if skew <= 0 {
            let detail = "must be greater than zero";
            errors.push(Error::invalid(&field.child("maxSkew"), skew, detail));
        }
        if text(constraint, "topologyKey").is_empty() {
            let field = field.child("topologyKey");
            errors.push(Error::required(&field, "can not be empty"));
        }
        validate_enum(
            errors,
            &field.child("whenUnsatisfiable"),
            text(constraint, "whenUnsatisfiable"),
            &["DoNotSchedule", "ScheduleAnyway"],
        );
        let field = field.child("labelSelector");
        label_selector::validate(errors, &field, &constraint["labelSelector"]);
    }
}
