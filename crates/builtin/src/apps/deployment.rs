//! Deployment: defaults, validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use super::pod_controller;
use crate::fields::{number, object_mut, set_missing, text};
use crate::table::cells::{age, containers, name, selector_requirements};
use crate::table::moment::Now;
use crate::validation::field_checks::{
    validate_nonnegative, validate_nonnegative_fields, validate_not_more_than_100_percent,
    validate_positive_int_or_percent,
};

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(deployment: &mut Map<String, Value>) {
    let Some(spec) = object_mut(deployment, "spec") else {
        return;
    };
    set_missing(
        spec,
        [
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
            ("progressDeadlineSeconds", json!(600)),
        ],
    );
    if let Some(rolling) = pod_controller::rolling_update_mut(spec, "strategy") {
        set_missing(
            rolling,
            [("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
        );
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    validate_nonnegative(errors, &SPEC.child("replicas"), &spec["replicas"]);
    pod_controller::validate_selector_and_template(errors, spec, "deployment", "ReplicaSet");
    validate_strategy(errors, &SPEC.child("strategy"), &spec["strategy"]);
    validate_nonnegative_fields(
        errors,
        &SPEC,
        spec,
        &["minReadySeconds", "revisionHistoryLimit"],
    );
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64() {
        let field = SPEC.child("progressDeadlineSeconds");
        validate_nonnegative(errors, &field, &spec["progressDeadlineSeconds"]);
        if deadline <= spec["minReadySeconds"].as_i64().unwrap_or_default() {
            let detail = "must be greater than minReadySeconds";
            errors.push(Error::invalid(&field, deadline, detail));
        }
    }
}

fn validate_strategy(errors: &mut Vec<Error>, path: &Path<'_>, strategy: &Value) {
    let rolling = &strategy["rollingUpdate"];
    let field = path.child("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if rolling.is_object() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(Error::forbidden(&field, detail));
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            let on_unavailable = field.child("maxUnavailable");
            validate_positive_int_or_percent(errors, &on_unavailable, unavailable);
            validate_positive_int_or_percent(errors, &field.child("maxSurge"), surge);
            if pod_controller::is_zero(unavailable) && pod_controller::is_zero(surge) {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.push(Error::invalid(&on_unavailable, unavailable, detail));
            }
            validate_not_more_than_100_percent(errors, &on_unavailable, unavailable);
        }
        _ => {
            let supported = ["Recreate", "RollingUpdate"];
            errors.push(Error::not_supported(
                path,
                pod_controller::strategy_bad_value(strategy),
                &supported,
            ));
        }
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(object),
        pod_controller::ready_cell(status, spec),
        number(status, "updatedReplicas").into(),
        number(status, "availableReplicas").into(),
        age(object, now),
        names,
        images,
        selector_requirements(&spec["selector"]).into(),
    ]
}
