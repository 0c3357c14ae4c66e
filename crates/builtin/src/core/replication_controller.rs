//! `ReplicationController`: defaults, validation, strategy and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use super::pod;
use crate::apps::pod_controller;
use crate::fields::{object_mut, set_missing};
use crate::strategy::Strategy;
use crate::table::cells::format_labels;
use crate::table::moment::Now;
use crate::validation::field_checks::validate_nonnegative_fields;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(controller: &mut Map<String, Value>) {
    let labels = pod_controller::template_labels(controller);
    if let Some(spec) = object_mut(controller, "spec") {
        set_missing(spec, [("replicas", json!(1))]);
        if let Some(labels) = labels.clone() {
            spec.entry("selector").or_insert(labels);
        }
    }
    pod_controller::copy_template_labels(controller, labels);
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    validate_nonnegative_fields(errors, &SPEC, spec, &["minReadySeconds"]);
    let selector = &spec["selector"];
    if selector.as_object().is_none_or(Map::is_empty) {
        errors.push(Error::required(&SPEC.child("selector"), ""));
    }
    validate_nonnegative_fields(errors, &SPEC, spec, &["replicas"]);
    let template = &spec["template"];
    if template.is_null() {
        errors.push(Error::required(&SPEC.child("template"), ""));
        return;
    }
    pod_controller::validate_labels_match(errors, &json!({"matchLabels": selector}), template);
    pod::validate_template(errors, &SPEC.child("template"), template);
    pod_controller::validate_always_restarts(errors, template, "ReplicationController");
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let mut replication_controller = pod_controller::replica_cells(object, now);
    replication_controller.push(format_labels(&object["spec"]["selector"]).into());
    replication_controller
}

#[derive(Debug)]
pub(crate) struct ReplicationController;

impl Strategy for ReplicationController {
    /// The selector is a plain map of labels.
    fn scale_selector(&self, object: &Value) -> Option<String> {
        let labels = object["spec"]["selector"].as_object()?.iter();
        let labels: Vec<_> = labels
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        Some(labels.join(","))
    }
}
