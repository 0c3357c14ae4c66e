//! Table cells of `ControllerRevisions`.

use outrigger_apimachinery::GroupVersion;
use serde_json::Value;

use super::moment::Now;
use crate::fields::{list, number, text};
use crate::table::cells::{age, name};

pub(super) fn controller_revision(object: &Value, now: Now) -> Vec<Value> {
    let owners = list(&object["metadata"], "ownerReferences").iter();
    let controller = owners
        .filter(|owner| owner["controller"] == true)
        .map(|owner| {
            let group = GroupVersion::parse(text(owner, "apiVersion")).group;
            let kind = match group {
                "" => text(owner, "kind").to_lowercase(),
                group => format!("{}.{group}", text(owner, "kind")).to_lowercase(),
            };
            format!("{kind}/{}", text(owner, "name"))
        })
        .next();
    vec![
        name(object),
        controller.unwrap_or_else(|| "<none>".to_owned()).into(),
        number(object, "revision").into(),
        age(object, now),
    ]
}
