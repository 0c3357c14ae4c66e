//! `PersistentVolumeClaim`, and what it shares with `PersistentVolume`.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::{Map, Value, json};

use crate::fields::{list, object_mut, set_missing, text, texts};
use crate::table::cells::{age, name, strings, text_or};
use crate::table::moment::Now;
use crate::validation::field_checks::{push_invalid, validate_optional_enum};
use crate::validation::label_selector;

const SPEC: Path<'static> = Path::root("spec");

const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(crate) fn set_pending(volume: &mut Map<String, Value>) {
    if let Some(status) = object_mut(volume, "status") {
        set_missing(status, [("phase", json!("Pending"))]);
    }
}

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    validate_spec(errors, &SPEC, &object["spec"]);
}

/// Validates the spec of a claim or of a claim template.
pub(crate) fn validate_spec(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let field = path.child("accessModes");
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        let detail = "at least 1 access mode is required";
        errors.push(Error::required(&field, detail));
    }
    label_selector::validate(errors, &path.child("selector"), &spec["selector"]);
    validate_access_modes(errors, &field, modes);
    let field = path.child("resources");
    let field = field.key("storage");
    match spec["resources"]["requests"]["storage"].as_str() {
        None => errors.push(Error::required(&field, "")),
        Some(amount) => validate_positive(errors, &field, amount),
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        let field = path.child("storageClassName");
        push_invalid(errors, &field, class, syntax::dns1123_subdomain(class));
    }
    let field = path.child("volumeMode");
    let modes = ["Block", "Filesystem"];
    validate_optional_enum(errors, &field, &spec["volumeMode"], &modes);
}

pub(crate) fn validate_access_modes(errors: &mut Vec<Error>, path: &Path<'_>, modes: &[Value]) {
    for mode in texts(modes) {
        if !ACCESS_MODES.contains(&mode) {
            errors.push(Error::not_supported(path, mode, &ACCESS_MODES));
        }
    }
    let is_exclusive = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    if is_exclusive && modes.len() > 1 {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(Error::forbidden(path, detail));
    }
}

pub(crate) fn validate_positive(errors: &mut Vec<Error>, path: &Path<'_>, amount: &str) {
    let quantity = Quantity::parse(amount);
    if quantity.is_ok_and(|quantity| quantity.is_zero() || quantity.is_negative()) {
        errors.push(Error::invalid(path, amount, "must be greater than zero"));
    }
}

/// The spec is immutable, except for the requested storage of bound claims.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Vec<Error>) {
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
        let field = SPEC.child("resources");
        let field = field.child("requests");
        let detail = "field can not be less than status.capacity";
        errors.push(Error::forbidden(&field.child("storage"), detail));
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
        // The controller sets these fields.
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

const SNAPSHOTS: &str = "snapshot.storage.k8s.io";

/// Keeps the deprecated `dataSource` and `dataSourceRef` equal.
pub(crate) fn sync_data_sources(claim: &mut Map<String, Value>) {
    let Some(spec) = object_mut(claim, "spec") else {
        return;
    };
    if spec.contains_key("dataSourceRef") {
        let reference = &spec["dataSourceRef"];
        let is_local = reference["namespace"]
            .as_str()
            .unwrap_or_default()
            .is_empty();
        if !spec.contains_key("dataSource") && is_local {
            let source = without_namespace(reference);
            spec.insert("dataSource".to_owned(), source);
        }
        return;
    }
    let Some(source) = spec.get("dataSource").cloned() else {
        return;
    };
    let group = source["apiGroup"].as_str().unwrap_or_default();
    let is_known = matches!(
        (group, source["kind"].as_str().unwrap_or_default()),
        ("", "PersistentVolumeClaim") | (SNAPSHOTS, "VolumeSnapshot")
    );
    // Other kinds of sources are only supported by `dataSourceRef`.
    if is_known {
        spec.insert("dataSourceRef".to_owned(), source);
    } else {
        spec.remove("dataSource");
    }
}

fn without_namespace(reference: &Value) -> Value {
    let mut source = reference.clone();
    if let Value::Object(source) = &mut source {
        source.remove("namespace");
    }
    source
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let volume = text(spec, "volumeName");
    let (capacity, modes) = match volume {
        "" => ("", String::new()),
        _ => (
            text_or(&status["capacity"], "storage", "0"),
            access_modes_cell(status),
        ),
    };
    vec![
        name(object),
        phase_cell(object).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        class_cell(object).into(),
        text_or(spec, "volumeAttributesClassName", "<unset>").into(),
        age(object, now),
        text_or(spec, "volumeMode", "<unset>").into(),
    ]
}

/// The abbreviated access modes, such as `RWO,ROX`.
pub(crate) fn access_modes_cell(object: &Value) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = strings(object, "accessModes");
    let short: Vec<_> = known
        .iter()
        .filter(|(mode, _)| modes.contains(mode))
        .map(|(_, short)| *short)
        .collect();
    short.join(",")
}

/// The storage class of a volume or claim, which used to be an annotation.
pub(crate) fn class_cell(object: &Value) -> &str {
    const ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
    let annotated = object["metadata"]["annotations"][ANNOTATION].as_str();
    annotated.unwrap_or_else(|| text(&object["spec"], "storageClassName"))
}

pub(crate) fn phase_cell(object: &Value) -> &str {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return "Terminating";
    }
    text(&object["status"], "phase")
}
