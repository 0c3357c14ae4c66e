//! `CertificateSigningRequest`: preparation and table cells.

use serde_json::{Map, Value, json};

use crate::fields::{list, object_mut, text};
use crate::prepare::User;
use crate::table::cells::{age, name, text_or};
use crate::table::moment::{Now, human};

pub(crate) fn set_requester(request: &mut Map<String, Value>, user: &User<'_>) {
    if let Some(spec) = object_mut(request, "spec") {
        for key in ["username", "uid", "groups", "extra"] {
            spec.remove(key);
        }
        for (key, text) in [("username", user.name), ("uid", user.uid)] {
            if !text.is_empty() {
                spec.insert(key.to_owned(), text.into());
            }
        }
        if !user.groups.is_empty() {
            spec.insert("groups".to_owned(), json!(user.groups));
        }
    }
}

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let has = |type_: &str| {
        let conditions = list(status, "conditions").iter();
        conditions
            .clone()
            .any(|condition| condition["type"] == type_)
    };
    let mut state = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(status, "certificate").is_empty() {
        state.push_str(",Issued");
    }
    let wanted = spec["expirationSeconds"].as_i64();
    vec![
        name(object),
        age(object, now),
        text_or(spec, "signerName", "<none>").into(),
        text(spec, "username").into(),
        wanted.map_or_else(|| "<none>".to_owned(), human).into(),
        state.into(),
    ]
}
