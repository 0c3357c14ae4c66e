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
        .and_then(|details| details.get_mut("causes")?.as_array_mut())
    else {
        return;
    };
    for cause in &mut *causes {
        if let Value::String(message) = &mut cause["message"] {
            *message = patched(message);
        }
    }
    // A real server validates a patched object more than once, and then tells each cause as often.
    causes.sort_by_key(ToString::to_string);
    causes.dedup();
    let told: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
        .collect();
    let Some(Value::String(message)) = status.get_mut("message") else {
        return;
    };
    *message = patched(message);
    if told.len() > 1
        && told.iter().all(|cause| message.contains(&**cause))
        && let Some((start, _)) = message.split_once('[')
    {
        *message = format!("{start}[<causes>]");
    }
}

/// A message about a patch has the whole object in it, its fields in the order of Go's structs.
fn patched(message: &str) -> String {
    const START: &str = "Invalid value: \"{";
    let found = message.find(START).zip(message.rfind("}\": "));
    let Some((start, end)) = found.filter(|(start, end)| start < end) else {
        return message.to_owned();
    };
    let quoted = &message[start + START.len() - 2..end + 2];
    let object = serde_json::from_str::<String>(quoted)
        .and_then(|text| serde_json::from_str::<Value>(&text));
    object.map_or_else(
        |_| message.to_owned(),
        |object| message.replace(quoted, &object.to_string()),
    )
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patched_object_is_told_in_one_order() {
        let one = patched(r#"patch: Invalid value: "{\"b\":1,\"a\":{}}": no"#);
        assert_eq!(one, r#"patch: Invalid value: {"a":{},"b":1}: no"#);
    }

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
