//! Table cells of networking kinds that have nothing but a table.

use outrigger_apimachinery::GroupResource;
use serde_json::{Value, json};

use super::moment::Now;
use crate::fields::text;
use crate::table::cells::{age, name, strings};

pub(super) fn service_cidr(object: &Value, now: Now) -> Vec<Value> {
    let ranges = strings(&object["spec"], "cidrs").join(",");
    vec![name(object), ranges.into(), age(object, now)]
}

pub(super) fn ip_address(object: &Value, now: Now) -> Vec<Value> {
    let parent = &object["spec"]["parentRef"];
    let shown = if parent.is_object() {
        let resource = GroupResource::new(text(parent, "group"), text(parent, "resource"));
        let mut shown = resource.to_string().to_lowercase();
        for key in ["namespace", "name"] {
            if !text(parent, key).is_empty() || key == "name" {
                shown.push('/');
                shown.push_str(text(parent, key));
            }
        }
        json!(shown)
    } else {
        json!("<none>")
    };
    vec![name(object), shown, age(object, now)]
}
