//! What the controllers of Pods have in common: selectors, templates and rolling updates.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use serde_json::{Map, Value, json};

use crate::core::pod;
use crate::fields::{number, object_mut, set_missing, str_field, text};
use crate::table::cells::{age, containers, name};
use crate::table::moment::Now;
use crate::validation::field_checks::validate_enum;
use crate::validation::label_selector;

const SPEC: Path<'static> = Path::root("spec");

/// Requires a selector that matches the labels of the template, and a template with `restartPolicy` `Always`.
pub(crate) fn validate_selector_and_template(
    errors: &mut Vec<Error>,
    spec: &Value,
    kind: &str,
    owner: &str,
) {
    let field = SPEC.child("selector");
    let selector = &spec["selector"];
    let before = errors.len();
    validate_selector(errors, selector, kind);
    let is_invalid =
        errors.len() > before && selector.is_object() && !label_selector::is_empty(selector);
    if is_invalid {
        let detail = "invalid label selector";
        errors.push(Error::invalid(
            &field,
            label_selector::bad_value(selector),
            detail,
        ));
        return;
    }
    let template = &spec["template"];
    if selector.is_null() || !label_selector::is_empty(selector) {
        validate_labels_match(errors, selector, template);
    }
    let field = SPEC.child("template");
    pod::validate_template(errors, &field, template);
    validate_always_restarts(errors, template, owner);
}

/// Requires a selector that is not empty.
pub(crate) fn validate_selector(errors: &mut Vec<Error>, selector: &Value, kind: &str) {
    let field = SPEC.child("selector");
    if !selector.is_object() {
        errors.push(Error::required(&field, ""));
        return;
    }
    label_selector::validate(errors, &field, selector);
    if label_selector::is_empty(selector) {
        let detail = format!("empty selector is invalid for {kind}");
        let bad_value = label_selector::bad_value(selector);
        errors.push(Error::invalid(&field, bad_value, detail));
    }
}

pub(crate) fn validate_labels_match(errors: &mut Vec<Error>, selector: &Value, template: &Value) {
    let labels = &template["metadata"]["labels"];
    if label_selector::matches(selector, labels) != Some(true) {
        let template = SPEC.child("template");
        let metadata = template.child("metadata");
        errors.push(Error::invalid(
            &metadata.child("labels"),
            labels,
            "`selector` does not match template `labels`",
        ));
    }
}

pub(crate) fn validate_always_restarts(errors: &mut Vec<Error>, template: &Value, owner: &str) {
    let field = SPEC.child("template");
    let field = field.child("spec");
    let policy = text(&template["spec"], "restartPolicy");
    // Unknown policies have been reported already.
    if matches!(policy, "OnFailure" | "Never") {
        validate_enum(errors, &field.child("restartPolicy"), policy, &["Always"]);
    }
    if template["spec"]["activeDeadlineSeconds"].is_number() {
        let detail = format!("activeDeadlineSeconds in {owner} is not Supported");
        let field = field.child("activeDeadlineSeconds");
        errors.push(Error::forbidden(&field, detail));
    }
}

/// The selector is immutable, since a change would orphan Pods.
pub(crate) fn validate_selector_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    if new != old {
        let field = SPEC.child("selector");
        let bad_value = label_selector::bad_value(new);
        errors.push(Error::invalid(&field, bad_value, "field is immutable"));
    }
}

pub(crate) fn is_zero(value: &Value) -> bool {
    *value == 0 || *value == "0%"
}

/// A strategy in the internal form that kube-apiserver shows.
pub(crate) fn strategy_bad_value(strategy: &Value) -> BadValue {
    BadValue::verbatim(format!(
        "{{\"Type\":{},\"RollingUpdate\":{}}}",
        strategy["type"], strategy["rollingUpdate"]
    ))
}

/// `rollingUpdate` of a strategy, inserted if the strategy is `RollingUpdate` or not set.
pub(crate) fn rolling_update_mut<'a>(
    spec: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    let strategy = object_mut(spec, key)?;
    set_missing(strategy, [("type", json!("RollingUpdate"))]);
    if str_field(strategy, "type") != "RollingUpdate" {
        return None;
    }
    object_mut(strategy, "rollingUpdate")
}

pub(crate) fn template_labels(object: &Map<String, Value>) -> Option<Value> {
    let labels = &object.get("spec")?["template"]["metadata"]["labels"];
    labels.is_object().then(|| labels.clone())
}

/// Copies the labels of the template to an object without labels.
pub(crate) fn copy_template_labels(object: &mut Map<String, Value>, labels: Option<Value>) {
    let Some(labels) = labels else {
        return;
    };
    if let Some(metadata) = object_mut(object, "metadata") {
        metadata.entry("labels").or_insert(labels);
    }
}

pub(crate) fn ready_cell(status: &Value, spec: &Value) -> Value {
    let (ready, desired) = (number(status, "readyReplicas"), number(spec, "replicas"));
    format!("{ready}/{desired}").into()
}

pub(crate) fn replica_cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        number(spec, "replicas").into(),
        number(status, "replicas").into(),
        number(status, "readyReplicas").into(),
        age(object, now),
        names,
        images,
    ]
}
