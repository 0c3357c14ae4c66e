//! `PersistentVolume`: validation, preparation and table cells.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::{Map, Value, json};

use super::persistent_volume_claim::{
    access_modes_cell, class_cell, phase_cell, validate_access_modes, validate_positive,
};
use super::pod;
use crate::fields::{list, map, object_mut, text};
use crate::table::cells::{age, name, text_or};
use crate::table::moment::Now;
use crate::validation::field_checks::{push_invalid, validate_immutable, validate_optional_enum};

const SPEC: Path<'static> = Path::root("spec");

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let field = SPEC.child("accessModes");
    if list(spec, "accessModes").is_empty() {
        errors.push(Error::required(&field, ""));
    }
    validate_access_modes(errors, &field, list(spec, "accessModes"));
    validate_capacity(errors, spec);
    let field = SPEC.child("persistentVolumeReclaimPolicy");
    let policies = ["Delete", "Recycle", "Retain"];
    let policy = &spec["persistentVolumeReclaimPolicy"];
    validate_optional_enum(errors, &field, policy, &policies);
    let is_local = spec["local"].is_object();
    if !pod::volume_source(errors, &SPEC, spec) && !is_local {
        errors.push(Error::required(&SPEC, "must specify a volume type"));
    }
    let needed = &spec["nodeAffinity"]["required"];
    if needed.is_object() {
        let field = SPEC.child("nodeAffinity");
        pod::node_selector(errors, &field.child("required"), needed);
    } else if is_local {
        let detail = "Local volume requires node affinity";
        errors.push(Error::required(&SPEC.child("nodeAffinity"), detail));
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        let field = SPEC.child("storageClassName");
        push_invalid(errors, &field, class, syntax::dns1123_subdomain(class));
    }
}

fn validate_capacity(errors: &mut Vec<Error>, spec: &Value) {
    let field = SPEC.child("capacity");
    let count = map(spec, "capacity").count();
    if count == 0 {
        errors.push(Error::required(&field, ""));
    }
    if count != 1 || !spec["capacity"]["storage"].is_string() {
        let bad_value = &spec["capacity"];
        errors.push(Error::not_supported(&field, bad_value, &["storage"]));
        return;
    }
    let amount = text(&spec["capacity"], "storage");
    let field = field.key("storage");
    if let Ok(quantity) = Quantity::parse(amount)
        && quantity.is_negative()
    {
        let bad_value = BadValue::verbatim(quantity.rounded_up().to_string());
        let detail = "must be a valid resource quantity";
        errors.push(Error::invalid(&field, bad_value, detail));
    }
    validate_positive(errors, &field, amount);
}

/// The volume source is immutable.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let source = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|key, _| pod::is_volume_source(key));
        }
        spec
    };
    if source(new) != source(old) {
        let field = SPEC.child("persistentvolumesource");
        let detail = "spec.persistentvolumesource is immutable after creation";
        errors.push(Error::forbidden(&field, detail));
    }
    let key = "volumeMode";
    // kube-apiserver omits `spec` here.
    let field = Path::root(key);
    validate_immutable(errors, &field, &new["spec"][key], &old["spec"][key]);
}

/// Sets `lastPhaseTransitionTime` if the phase changes.
pub(crate) fn set_phase_transition_time(volume: &mut Map<String, Value>, old: &Value, now: &str) {
    const SINCE: &str = "lastPhaseTransitionTime";
    let before = &old["status"];
    let Some(status) = object_mut(volume, "status") else {
        return;
    };
    let is_unchanged = status.get("phase") == before.get("phase");
    let since = status.get(SINCE);
    let is_set = since.is_some_and(|since| !since.is_null());
    let value = match (is_unchanged, is_set) {
        (true, false) => before[SINCE].clone(),
        (false, _) if !is_set || since == before.get(SINCE) => json!(now),
        _ => return,
    };
    if !value.is_null() {
        status.insert(SINCE.to_owned(), value);
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let claim = &spec["claimRef"];
    let claim = if claim.is_object() {
        format!("{}/{}", text(claim, "namespace"), text(claim, "name"))
    } else {
        String::new()
    };
    vec![
        name(object),
        text_or(&spec["capacity"], "storage", "0").into(),
        access_modes_cell(spec).into(),
        text(spec, "persistentVolumeReclaimPolicy").into(),
        phase_cell(object).into(),
        claim.into(),
        class_cell(object).into(),
        text_or(spec, "volumeAttributesClassName", "<unset>").into(),
        text(status, "reason").into(),
        age(object, now),
        text_or(spec, "volumeMode", "<unset>").into(),
    ]
}
