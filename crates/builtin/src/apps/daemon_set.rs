//! `DaemonSet`: defaults, validation, preparation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use super::pod_controller;
use crate::core::pod;
use crate::fields::{number, object_mut, set_missing, text};
use crate::strategy::Strategy;
use crate::table::cells::{age, containers, format_labels, format_selector, name};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    validate_nonnegative, validate_nonnegative_fields, validate_not_more_than_100_percent,
    validate_positive_int_or_percent,
};
use crate::validation::label_selector;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(set: &mut Map<String, Value>) {
    let Some(spec) = object_mut(set, "spec") else {
        return;
    };
    set_missing(spec, [("revisionHistoryLimit", json!(10))]);
    if let Some(rolling) = pod_controller::rolling_update_mut(spec, "updateStrategy") {
        set_missing(
            rolling,
            [("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
        );
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let template = &spec["template"];
    label_selector::validate(errors, &SPEC.child("selector"), &spec["selector"]);
    pod_controller::validate_labels_match(errors, &spec["selector"], template);
    if spec["selector"].is_object() && label_selector::is_empty(&spec["selector"]) {
        let detail = "empty selector is invalid for daemonset";
        let bad_value = label_selector::bad_value(&spec["selector"]);
        errors.push(Error::invalid(&SPEC.child("selector"), bad_value, detail));
    }
    let field = SPEC.child("template");
    pod::validate_template(errors, &field, template);
    pod_controller::validate_always_restarts(errors, template, "DaemonSet");
    validate_nonnegative_fields(errors, &SPEC, spec, &["minReadySeconds"]);
    validate_strategy(errors, &spec["updateStrategy"]);
    let field = SPEC.child("revisionHistoryLimit");
    validate_nonnegative(errors, &field, &spec["revisionHistoryLimit"]);
}

fn validate_strategy(errors: &mut Vec<Error>, strategy: &Value) {
    let path = SPEC.child("updateStrategy");
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let field = path.child("rollingUpdate");
            let rolling = &strategy["rollingUpdate"];
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            validate_positive_int_or_percent(errors, &field.child("maxUnavailable"), unavailable);
            validate_not_more_than_100_percent(errors, &field.child("maxUnavailable"), unavailable);
            validate_positive_int_or_percent(errors, &field.child("maxSurge"), surge);
            validate_not_more_than_100_percent(errors, &field.child("maxSurge"), surge);
            if !pod_controller::is_zero(unavailable)
                && !pod_controller::is_zero(surge)
                && !surge.is_null()
            {
                let detail = "may not be set when maxUnavailable is non-zero";
                errors.push(Error::invalid(&field.child("maxSurge"), surge, detail));
            }
            if pod_controller::is_zero(unavailable)
                && (pod_controller::is_zero(surge) || surge.is_null())
            {
                let detail = "cannot be 0 when maxSurge is 0";
                errors.push(Error::required(&field.child("maxUnavailable"), detail));
            }
        }
        _ => {
            let supported = ["RollingUpdate", "OnDelete"];
            errors.push(Error::not_supported(
                &path,
                pod_controller::strategy_bad_value(strategy),
                &supported,
            ));
        }
    }
}

pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) fn template_generation(set: &Value) -> i64 {
    let annotation = &set["metadata"]["annotations"][TEMPLATE_GENERATION];
    let generation = annotation.as_str().and_then(|text| text.parse().ok());
    generation.unwrap_or(1)
}

pub(crate) fn set_template_generation(set: &mut Map<String, Value>, generation: i64) {
    let annotations =
        object_mut(set, "metadata").and_then(|metadata| object_mut(metadata, "annotations"));
    if let Some(annotations) = annotations {
        let text = generation.to_string();
        annotations.insert(TEMPLATE_GENERATION.to_owned(), text.into());
    }
}

/// kube-apiserver stores the template generation in a field, which `PartialObjectMetadata` does not include.
pub(crate) fn hide_template_generation(metadata: &mut Value) {
    let annotations = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.remove(TEMPLATE_GENERATION);
        if annotations.is_empty()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
}

#[derive(Debug)]
pub(crate) struct DaemonSet;

impl Strategy for DaemonSet {
    /// The internal version has `spec.templateGeneration`, which the conversion writes back as an annotation.
    fn after_decode(&self, object: &mut Value) {
        let Some(metadata) = object["metadata"].as_object_mut() else {
            return;
        };
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations
                .entry(TEMPLATE_GENERATION)
                .or_insert_with(|| "0".into());
        }
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let pod = &spec["template"]["spec"];
    let [names, images] = containers(pod);
    vec![
        name(object),
        number(status, "desiredNumberScheduled").into(),
        number(status, "currentNumberScheduled").into(),
        number(status, "numberReady").into(),
        number(status, "updatedNumberScheduled").into(),
        number(status, "numberAvailable").into(),
        format_labels(&pod["nodeSelector"]).into(),
        age(object, now),
        names,
        images,
        format_selector(&spec["selector"]).into(),
    ]
}
