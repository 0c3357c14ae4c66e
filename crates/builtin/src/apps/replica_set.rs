//! `ReplicaSet`: defaults, validation and table cells.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use super::pod_controller;
use crate::fields::{object_mut, set_missing};
use crate::table::cells::format_selector;
use crate::table::moment::Now;
use crate::validation::field_checks::validate_nonnegative_fields;

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn set_defaults(set: &mut Map<String, Value>) {
    if let Some(spec) = object_mut(set, "spec") {
        set_missing(spec, [("replicas", json!(1))]);
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    validate_nonnegative_fields(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    pod_controller::validate_selector_and_template(errors, spec, "deployment", "ReplicaSet");
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let mut replica_set = pod_controller::replica_cells(object, now);
    replica_set.push(format_selector(&object["spec"]["selector"]).into());
    replica_set
}
