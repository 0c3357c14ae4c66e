//! Sorts lists whose order is random on a real server, which iterates over Go maps and sorts by timestamps.

use serde_json::{Map, Value};

/// Sorts the lists of an object whose order is not significant.
pub(super) fn object(object: &mut Map<String, Value>) {
    if let Some(Value::Array(entries)) = object.get_mut("managedFields") {
        entries.sort_by_key(manager_key);
    }
    if object.get("kind").is_some_and(|kind| kind == "Status") {
        sort_causes(object);
    }
}

/// The fields that identify an entry of managedFields.
fn manager_key(entry: &Value) -> [String; 4] {
    ["manager", "operation", "apiVersion", "subresource"].map(|key| entry[key].to_string())
}

/// Sorts the causes of an error, and removes them from the message, which repeats them in brackets.
fn sort_causes(status: &mut Map<String, Value>) {
    let Some(causes) = status
        .get_mut("details")
        .and_then(|details| details.get_mut("causes")?.as_array_mut())
    else {
        return;
    };
    for cause in &mut *causes {
        if let Value::String(message) = &mut cause["message"] {
            *message = sort_quoted_object(message);
        }
    }
    // A real server validates a patched object more than once, and repeats each cause.
    causes.sort_by_key(ToString::to_string);
    causes.dedup();
    let listed: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
        .collect();
    let Some(Value::String(message)) = status.get_mut("message") else {
        return;
    };
    *message = sort_quoted_object(message);
    if listed.len() > 1
        && listed.iter().all(|cause| message.contains(&**cause))
        && let Some((start, _)) = message.split_once('[')
    {
        *message = format!("{start}[<causes>]");
    }
}

/// Sorts the fields of the object that a message about a patch quotes; Go prints them in the order of its structs.
fn sort_quoted_object(message: &str) -> String {
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
    fn sorts_the_fields_of_a_quoted_object() {
        let one = sort_quoted_object(r#"patch: Invalid value: "{\"b\":1,\"a\":{}}": no"#);
        assert_eq!(one, r#"patch: Invalid value: {"a":{},"b":1}: no"#);
    }

    #[test]
    fn ignores_the_order_of_causes() {
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
