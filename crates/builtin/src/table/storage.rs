//! Table cells of storage kinds that have nothing but a table.

use serde_json::Value;

use super::moment::Now;
use crate::fields::{list, text};
use crate::table::cells::{age, name, strings};

pub(super) fn attributes_class(object: &Value, now: Now) -> Vec<Value> {
    let driver = text(object, "driverName");
    vec![name(object), driver.into(), age(object, now)]
}

pub(super) fn driver(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let modes = match strings(spec, "volumeLifecycleModes").join(",") {
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
