//! Claims for volumes, and the volumes of the cluster.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{each, list, map, one_of_if_set, text, texts, unchanged};
use super::pod;
use super::selector;

const SPEC: Path<'static> = Path::root("spec");
const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(super) fn claim(object: &Value, errors: &mut Vec<Error>) {
    claim_spec(errors, &SPEC, &object["spec"]);
}

/// The specification of a claim or of a template of claims.
pub(super) fn claim_spec(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let place = path.child("accessModes");
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        let detail = "at least 1 access mode is required";
        errors.push(Error::required(&place, detail));
    }
    selector::check(errors, &path.child("selector"), &spec["selector"]);
    access_modes(errors, &place, modes);
    let place = path.child("resources");
    let place = place.key("storage");
    match spec["resources"]["requests"]["storage"].as_str() {
        None => errors.push(Error::required(&place, "")),
        Some(amount) => positive(errors, &place, amount),
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        let place = path.child("storageClassName");
        each(errors, &place, class, syntax::dns1123_subdomain(class));
    }
    let place = path.child("volumeMode");
    let modes = ["Block", "Filesystem"];
    one_of_if_set(errors, &place, &spec["volumeMode"], &modes);
}

fn access_modes(errors: &mut Vec<Error>, path: &Path<'_>, modes: &[Value]) {
    for mode in texts(modes) {
        if !MODES.contains(&mode) {
            errors.push(Error::not_supported(path, mode, &MODES));
        }
    }
    let is_exclusive = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    if is_exclusive && modes.len() > 1 {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(Error::forbidden(path, detail));
    }
}

fn positive(errors: &mut Vec<Error>, path: &Path<'_>, amount: &str) {
    let quantity = Quantity::parse(amount);
    if quantity.is_ok_and(|quantity| quantity.is_zero() || quantity.is_negative()) {
        errors.push(Error::invalid(path, amount, "must be greater than zero"));
    }
}

pub(super) fn volume(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let place = SPEC.child("accessModes");
    if list(spec, "accessModes").is_empty() {
        errors.push(Error::required(&place, ""));
    }
    access_modes(errors, &place, list(spec, "accessModes"));
    capacity(errors, spec);
    let place = SPEC.child("persistentVolumeReclaimPolicy");
    let policies = ["Delete", "Recycle", "Retain"];
    let policy = &spec["persistentVolumeReclaimPolicy"];
    one_of_if_set(errors, &place, policy, &policies);
    let is_local = spec["local"].is_object();
    if !pod::volume_source(errors, &SPEC, spec) && !is_local {
        errors.push(Error::required(&SPEC, "must specify a volume type"));
    }
    let needed = &spec["nodeAffinity"]["required"];
    if needed.is_object() {
        let place = SPEC.child("nodeAffinity");
        pod::node_selector(errors, &place.child("required"), needed);
    } else if is_local {
        let detail = "Local volume requires node affinity";
        errors.push(Error::required(&SPEC.child("nodeAffinity"), detail));
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        let place = SPEC.child("storageClassName");
        each(errors, &place, class, syntax::dns1123_subdomain(class));
    }
}

fn capacity(errors: &mut Vec<Error>, spec: &Value) {
    let place = SPEC.child("capacity");
    let count = map(spec, "capacity").count();
    if count == 0 {
        errors.push(Error::required(&place, ""));
    }
    if count != 1 || !spec["capacity"]["storage"].is_string() {
        let shown = &spec["capacity"];
        errors.push(Error::not_supported(&place, shown, &["storage"]));
        return;
    }
    let amount = text(&spec["capacity"], "storage");
    let place = place.key("storage");
    if let Ok(quantity) = Quantity::parse(amount)
        && quantity.is_negative()
    {
        let shown = BadValue::verbatim(quantity.rounded_up().to_string());
        let detail = "must be a valid resource quantity";
        errors.push(Error::invalid(&place, shown, detail));
    }
    positive(errors, &place, amount);
}

/// A claim stays as it is once made, but for how much it asks for.
pub(super) fn claim_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let mut after = new["spec"].clone();
    let before = &old["spec"];
    let amount = |spec: &Value| {
        let amount = spec["resources"]["requests"]["storage"].as_str();
        amount.and_then(|amount| Quantity::parse(amount).ok())
    };
    let is_bound = old["status"]["phase"] == "Bound";
    if let (Some(asked), Some(had)) = (amount(&after), amount(before))
        && asked < had
        && is_bound
    {
        let place = SPEC.child("resources");
        let place = place.child("requests");
        let detail = "field can not be less than status.capacity";
        errors.push(Error::forbidden(&place.child("storage"), detail));
    }
    if let Some(after) = after.as_object_mut() {
        for key in ["resources", "volumeAttributesClassName"] {
            let is_free = key != "resources" || is_bound;
            if is_free {
                match before.get(key) {
                    Some(value) => after.insert(key.to_owned(), value.clone()),
                    None => after.remove(key),
                };
            }
        }
        // The controller fills these in.
        for key in ["volumeName", "storageClassName"] {
            if before.get(key).is_none() {
                after.remove(key);
            }
        }
    }
    if after != *before {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.push(Error::forbidden(&SPEC, detail));
    }
}

/// What a volume is made of stays.
pub(super) fn volume_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let source = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|key, _| pod::is_volume_source(key));
        }
        spec
    };
    if source(new) != source(old) {
        let place = SPEC.child("persistentvolumesource");
        let detail = "spec.persistentvolumesource is immutable after creation";
        errors.push(Error::forbidden(&place, detail));
    }
    let key = "volumeMode";
    // The real server leaves out the specification here.
    let place = Path::root(key);
    unchanged(errors, &place, &new["spec"][key], &old["spec"][key]);
}
