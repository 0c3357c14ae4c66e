//! Compares two responses.

use serde_json::Value;

/// A value that differs between the two servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// The number of the step, from 1.
    pub(super) step: usize,
    /// A JSON pointer into the response: `/code`, `/headers/warning`, `/body/metadata/name`.
    pub(super) at: String,
    pub(super) real: Option<Value>,
    pub(super) ours: Option<Value>,
}

/// All differences between the two responses of one step.
pub(super) fn responses(step: usize, real: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(step, "", Some(real), Some(ours), &mut found);
    found
}

fn walk(
    step: usize,
    at: &str,
    real: Option<&Value>,
    ours: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (real, ours) {
        (Some(real), Some(ours)) if real == ours => {}
        (Some(Value::Object(real)), Some(Value::Object(ours))) => {
            let more = ours.keys().filter(|key| !real.contains_key(*key));
            for key in real.keys().chain(more) {
                let at = format!("{at}/{}", escape(key));
                walk(step, &at, real.get(key), ours.get(key), found);
            }
        }
        (Some(Value::Array(real)), Some(Value::Array(ours))) => {
            for index in 0..real.len().max(ours.len()) {
                let at = format!("{at}/{index}");
                walk(step, &at, real.get(index), ours.get(index), found);
            }
        }
        _ => found.push(Difference {
            step,
            at: at.to_owned(),
            real: real.cloned(),
            ours: ours.cloned(),
        }),
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Whether a JSON pointer, or one of its parents, matches a pattern with `*`.
pub(super) fn matches(pattern: &str, pointer: &str) -> bool {
    let mut parts = pointer.split('/');
    pattern.split('/').all(|wanted| {
        let part = parts.next();
        part.is_some_and(|part| wanted == "*" || wanted == part)
    })
}

/// Removes the values that match a pattern with `*`.
pub(super) fn remove(value: &mut Value, pattern: &str) {
    if pattern.is_empty() {
        *value = Value::Null;
        return;
    }
    let parts: Vec<String> = pattern
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect();
    remove_parts(value, &parts);
}

fn remove_parts(value: &mut Value, parts: &[String]) {
    let Some((first, rest)) = parts.split_first() else {
        return;
    };
    match value {
        Value::Object(entries) if rest.is_empty() => match &**first {
            "*" => entries.clear(),
            key => drop(entries.remove(key)),
        },
        Value::Object(entries) => {
            for (_, value) in entries
                .iter_mut()
                .filter(|(key, _)| first == "*" || first == *key)
            {
                remove_parts(value, rest);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if first != "*" && *first != index.to_string() {
                    continue;
                }
                if rest.is_empty() {
                    *item = Value::Null;
                } else {
                    remove_parts(item, rest);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_have_json_pointers() {
        let found = responses(
            1,
            &json!({"a": [1, 2], "b": 1}),
            &json!({"a": [1, 3], "c": 1}),
        );
        let pointers: Vec<_> = found.iter().map(|difference| &*difference.at).collect();
        assert_eq!(pointers, ["/a/1", "/b", "/c"]);
    }

    #[test]
    fn a_pattern_matches_children() {
        assert!(matches(
            "/body/items/*/status",
            "/body/items/3/status/phase"
        ));
        assert!(!matches("/body/items/*/status", "/body/items/3/spec"));
    }

    #[test]
    fn removes_the_values_that_match_a_pattern() {
        let mut value = json!({"items": [{"a": 1, "b": 2}, {"a": 3}]});
        remove(&mut value, "/items/*/a");
        assert_eq!(value, json!({"items": [{"b": 2}, {}]}));
    }
}
