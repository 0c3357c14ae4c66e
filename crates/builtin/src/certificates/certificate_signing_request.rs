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

/// Sets the times of conditions that have none, as `populateConditionTimestamps` does.
pub(crate) fn set_condition_times(request: &mut Map<String, Value>, old: &Value, now: &str) {
    let status = request.get_mut("status");
    let conditions = status.and_then(|status| status.get_mut("conditions"));
    let Some(Value::Array(conditions)) = conditions else {
        return;
    };
    for condition in conditions
        .iter_mut()
        .filter(|condition| condition.is_object())
    {
        if text(condition, "lastUpdateTime").is_empty() {
            condition["lastUpdateTime"] = now.into();
        }
        if text(condition, "lastTransitionTime").is_empty() {
            let same = list(&old["status"], "conditions").iter().find(|old| {
                old["type"] == condition["type"]
                    && old["status"] == condition["status"]
                    && !text(old, "lastTransitionTime").is_empty()
            });
            let time = same.map_or(now, |same| text(same, "lastTransitionTime"));
            condition["lastTransitionTime"] = time.into();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_get_the_time_of_the_request() {
        let condition =
            |type_: &str| json!({"type": type_, "status": "True", "lastTransitionTime": null});
        let mut old = condition("Approved");
        old["lastTransitionTime"] = "2026-01-01T00:00:00Z".into();
        let old = json!({"status": {"conditions": [old]}});
        let conditions = [condition("Approved"), condition("Failed")];
        let mut request = json!({"status": {"conditions": conditions}});
        let now = "2026-01-02T00:00:00Z";
        set_condition_times(request.as_object_mut().unwrap(), &old, now);
        let conditions = list(&request["status"], "conditions");
        assert_eq!(conditions[0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        assert_eq!(conditions[1]["lastTransitionTime"], now);
        for condition in conditions {
            assert_eq!(condition["lastUpdateTime"], now);
        }
    }
}
