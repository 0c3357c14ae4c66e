//! Volumes, their classes, and other things that hold data.

use serde_json::Value;

use super::cells::{age, list, name, text, text_or, texts};
use super::moment::Now;

fn count(object: &Value, key: &str) -> usize {
    object[key].as_object().map_or(0, serde_json::Map::len)
}

pub(super) fn config_map(object: &Value, now: Now) -> Vec<Value> {
    let keys = count(object, "data") + count(object, "binaryData");
    vec![name(object), keys.into(), age(object, now)]
}

pub(super) fn secret(object: &Value, now: Now) -> Vec<Value> {
    vec![
        name(object),
        text(object, "type").into(),
        count(object, "data").into(),
        age(object, now),
    ]
}

/// How a volume may be mounted, in short.
fn access_modes(object: &Value) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = texts(object, "accessModes");
    let short: Vec<_> = known
        .iter()
        .filter(|(mode, _)| modes.contains(mode))
        .map(|(_, short)| *short)
        .collect();
    short.join(",")
}

/// The class of a volume or claim; an annotation was its first place.
fn class(object: &Value) -> &str {
    const ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
    let annotated = object["metadata"]["annotations"][ANNOTATION].as_str();
    annotated.unwrap_or_else(|| text(&object["spec"], "storageClassName"))
}

fn phase(object: &Value) -> &str {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return "Terminating";
    }
    text(&object["status"], "phase")
}

pub(super) fn volume(object: &Value, now: Now) -> Vec<Value> {
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
        access_modes(spec).into(),
        text(spec, "persistentVolumeReclaimPolicy").into(),
        phase(object).into(),
        claim.into(),
        class(object).into(),
        text_or(spec, "volumeAttributesClassName", "<unset>").into(),
        text(status, "reason").into(),
        age(object, now),
        text_or(spec, "volumeMode", "<unset>").into(),
    ]
}

pub(super) fn claim(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let volume = text(spec, "volumeName");
    let (capacity, modes) = match volume {
        "" => ("", String::new()),
        _ => (
            text_or(&status["capacity"], "storage", "0"),
            access_modes(status),
        ),
    };
    vec![
        name(object),
        phase(object).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        class(object).into(),
        text_or(spec, "volumeAttributesClassName", "<unset>").into(),
        age(object, now),
        text_or(spec, "volumeMode", "<unset>").into(),
    ]
}

pub(super) fn storage_class(object: &Value, now: Now) -> Vec<Value> {
    let annotations = &object["metadata"]["annotations"];
    let is_default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ]
    .iter()
    .any(|key| annotations[*key] == "true");
    let own = text(&object["metadata"], "name");
    let name = if is_default {
        format!("{own} (default)")
    } else {
        own.to_owned()
    };
    vec![
        name.into(),
        text(object, "provisioner").into(),
        text_or(object, "reclaimPolicy", "Delete").into(),
        text_or(object, "volumeBindingMode", "Immediate").into(),
        (object["allowVolumeExpansion"] == true).into(),
        age(object, now),
    ]
}

pub(super) fn attributes_class(object: &Value, now: Now) -> Vec<Value> {
    let driver = text(object, "driverName");
    vec![name(object), driver.into(), age(object, now)]
}

pub(super) fn driver(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let modes = match texts(spec, "volumeLifecycleModes").join(",") {
        none if none.is_empty() => "<none>".to_owned(),
        modes => modes,
    };
    let requests = list(spec, "tokenRequests").iter();
    let audiences: Vec<_> = requests.map(|request| text(request, "audience")).collect();
    let audiences = match spec["tokenRequests"] {
        Value::Array(_) => audiences.join(","),
        _ => "<unset>".to_owned(),
    };
    vec![
        name(object),
        (spec["attachRequired"] != false).into(),
        (spec["podInfoOnMount"] == true).into(),
        (spec["storageCapacity"] == true).into(),
        audiences.into(),
        (spec["requiresRepublish"] == true).into(),
        modes.into(),
        age(object, now),
    ]
}

pub(super) fn driver_node(object: &Value, now: Now) -> Vec<Value> {
    let drivers = list(&object["spec"], "drivers").len();
    vec![name(object), drivers.into(), age(object, now)]
}

pub(super) fn attachment(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    vec![
        name(object),
        text(spec, "attacher").into(),
        text(&spec["source"], "persistentVolumeName").into(),
        text(spec, "nodeName").into(),
        (object["status"]["attached"] == true).into(),
        age(object, now),
    ]
}
