//! What `ResourceClaims` use of a quota: devices by their class.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_builtin::fields::{list, text};
use serde_json::Value;

use crate::resource_list::{self, ResourceList};

/// After the name of a device class.
const DEVICES: &str = ".deviceclass.resource.k8s.io/devices";
/// How many devices a claim for all of them gets at most.
const MAX_DEVICES: i64 = 32;

pub(super) fn measures(name: &str) -> bool {
    name.ends_with(DEVICES)
}

/// Of alternatives, the largest number of each class counts.
pub(super) fn usage(claim: &Value) -> ResourceList {
    let mut usage = ResourceList::new();
    for request in list(&claim["spec"]["devices"], "requests") {
        let mut most = ResourceList::new();
        let alternatives = list(request, "firstAvailable").iter();
        let exact = request.get("exactly").filter(|exact| exact.is_object());
        for devices in alternatives.chain(exact) {
            let name = format!("{}{DEVICES}", text(devices, "deviceClassName"));
            resource_list::raise(&mut most, &ResourceList::from([(name, count(devices))]));
        }
        resource_list::add(&mut usage, &most);
    }
    usage
}

fn count(devices: &Value) -> Quantity {
    let count = match text(devices, "allocationMode") {
        "ExactCount" => devices["count"].as_i64().unwrap_or_default(),
        "All" => MAX_DEVICES,
        _ => 0,
    };
    Quantity::from(count)
}
