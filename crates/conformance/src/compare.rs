//! Where two answers differ, as a list of places.

use serde_json::Value;

/// One place where two servers disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Number of the step, from 1.
    pub(crate) step: usize,
    /// A JSON pointer: `/code`, `/headers/warning`, `/body/metadata/name`.
    pub(crate) at: String,
    pub(crate) real: Option<Value>,
    pub(crate) ours: Option<Value>,
}

/// All differences of two answers to one step.
pub(crate) fn answers(step: usize, real: &Value, ours: &Value) -> Vec<Difference> {
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

/// Whether a pointer is, or is below, what a pattern with `*` names.
pub(crate) fn matches(pattern: &str, pointer: &str) -> bool {
    let mut parts = pointer.split('/');
    pattern.split('/').all(|wanted| {
        let part = parts.next();
        part.is_some_and(|part| wanted == "*" || wanted == part)
    })
}

/// Takes out what a case does not want compared.
pub(crate) fn remove(value: &mut Value, pattern: &str) {
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
    fn differences_name_their_places() {
        let found = answers(
            1,
            &json!({"a": [1, 2], "b": 1}),
            &json!({"a": [1, 3], "c": 1}),
        );
        let places: Vec<_> = found.iter().map(|difference| &*difference.at).collect();
        assert_eq!(places, ["/a/1", "/b", "/c"]);
    }

    #[test]
    fn a_pattern_matches_what_is_below_it() {
        assert!(matches(
            "/body/items/*/status",
            "/body/items/3/status/phase"
        ));
        assert!(!matches("/body/items/*/status", "/body/items/3/spec"));
    }

    #[test]
    fn ignored_places_are_removed() {
        let mut value = json!({"items": [{"a": 1, "b": 2}, {"a": 3}]});
        remove(&mut value, "/items/*/a");
        assert_eq!(value, json!({"items": [{"b": 2}, {}]}));
    }
}
