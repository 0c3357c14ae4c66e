//! Puts into one order what a real server puts into any: it walks Go maps, and sorts by times.

use serde_json::{Map, Value};

/// Sorts the lists of one object whose order means nothing.
pub(crate) fn object(object: &mut Map<String, Value>) {
    if let Some(Value::Array(entries)) = object.get_mut("managedFields") {
        entries.sort_by_key(owner);
    }
    if object.get("kind").is_some_and(|kind| kind == "Status") {
        causes(object);
    }
}

/// What makes an entry of managedFields the only one of its kind.
fn owner(entry: &Value) -> [String; 4] {
    ["manager", "operation", "apiVersion", "subresource"].map(|key| entry[key].to_string())
}

/// Sorts the causes of an error. The message tells them in brackets; they are not compared twice.
fn causes(status: &mut Map<String, Value>) {
    let Some(causes) = status
        .get_mut("details")
        .and_then(|details| details["causes"].as_array_mut())
    else {
        return;
    };
    causes.sort_by_key(ToString::to_string);
    let told: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
        .collect();
    let Some(Value::String(message)) = status.get_mut("message") else {
        return;
    };
    if told.len() > 1
        && told.iter().all(|cause| message.contains(&**cause))
        && let Some((start, _)) = message.split_once('[')
    {
        *message = format!("{start}[<causes>]");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn causes_in_any_order_are_the_same() {
        let status = |first: &str, second: &str| {
            let cause = |field: &str| json!({"field": field, "message": "bad"});
            let mut value = json!({
                "kind": "Status",
                "message": format!("no: [{first}: bad, {second}: bad]"),
                "details": {"causes": [cause(first), cause(second)]},
            });
            object(value.as_object_mut().unwrap());
            value
        };
        assert_eq!(status("a", "b"), status("b", "a"));
        assert_eq!(status("a", "b")["message"], "no: [<causes>]");
    }
}
