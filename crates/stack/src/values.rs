//! Values of plugins: defaults, overridden by `cluster.yaml`, overridden by a node pool.

use serde_json::{Map, Value};

use crate::nearest::suggestion;

/// Merges maps by presence: a value that is given wins, even if it is `false`, `0`, `""` or null. Lists are replaced.
pub(crate) fn overlay(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Object(base)), Value::Object(over)) => overlay(base, over),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// What is wrong with values, according to the schema, or without one according to the defaults.
pub(crate) fn problems(
    values: &Map<String, Value>,
    schema: Option<&Value>,
    defaults: &Map<String, Value>,
) -> Vec<String> {
    if let Some(schema) = schema {
        return schema_problems(values, schema);
    }
    let mut problems = Vec::new();
    unknown_keys(values, defaults, "", &mut problems);
    problems
}

/// Keys that the defaults do not have. An empty object or null in the defaults may have any keys.
fn unknown_keys(
    values: &Map<String, Value>,
    known: &Map<String, Value>,
    path: &str,
    problems: &mut Vec<String>,
) {
    for (key, value) in values {
        match (known.get(key), value) {
            (None, _) => {
                let hint = suggestion(key, known.keys().map(String::as_str));
                problems.push(format!("unknown value {path}{key}{hint}"));
            }
            (Some(Value::Object(known)), Value::Object(values)) if !known.is_empty() => {
                unknown_keys(values, known, &format!("{path}{key}."), problems);
            }
            _ => {}
        }
    }
}

fn schema_problems(values: &Map<String, Value>, schema: &Value) -> Vec<String> {
    const LOCATION: &str = "schema.json";
    let mut compiler = boon::Compiler::new();
    let mut schemas = boon::Schemas::new();
    if let Err(error) = compiler.add_resource(LOCATION, schema.clone()) {
        return vec![format!("the schema is invalid: {error}")];
    }
    let index = match compiler.compile(LOCATION, &mut schemas) {
        Ok(index) => index,
        Err(error) => return vec![format!("the schema is invalid: {error}")],
    };
    let values = Value::Object(values.clone());
    match schemas.validate(&values, index) {
        Ok(()) => Vec::new(),
        Err(error) => {
            let leaves = leaves(&error).into_iter();
            leaves
                .map(|error| format!("value {}: {}", location(error), error.kind))
                .collect()
        }
    }
}

/// The innermost errors, which say what is wrong.
fn leaves<'a, 's, 'v>(
    error: &'a boon::ValidationError<'s, 'v>,
) -> Vec<&'a boon::ValidationError<'s, 'v>> {
    if error.causes.is_empty() {
        return vec![error];
    }
    error.causes.iter().flat_map(leaves).collect()
}

fn location(error: &boon::ValidationError<'_, '_>) -> String {
    let location = error.instance_location.to_string();
    if location.is_empty() {
        "(root)".to_owned()
    } else {
        location
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn explicit_false_zero_and_empty_text_override_defaults() {
        let mut values =
            map(&json!({"a": true, "b": 1, "c": "x", "d": {"e": 1, "f": 2}, "l": [1, 2]}));
        overlay(
            &mut values,
            &map(&json!({"a": false, "b": 0, "c": "", "d": {"e": null}, "l": []})),
        );
        assert_eq!(
            Value::Object(values),
            json!({"a": false, "b": 0, "c": "", "d": {"e": null, "f": 2}, "l": []})
        );
    }

    #[test]
    fn without_a_schema_the_defaults_are_the_known_keys() {
        let defaults = map(&json!({"image": {"tag": "1"}, "options": {}}));
        let found = problems(
            &map(&json!({"image": {"tga": 1}, "options": {"x": 1}, "imge": 1})),
            None,
            &defaults,
        );
        assert_eq!(
            found,
            [
                "unknown value image.tga, did you mean \"tag\"?",
                "unknown value imge, did you mean \"image\"?"
            ]
        );
    }

    #[test]
    fn schemas_are_checked() {
        let schema = json!({"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}, "additionalProperties": false});
        assert!(problems(&map(&json!({"count": 3})), Some(&schema), &Map::new()).is_empty());
        assert_eq!(
            problems(&map(&json!({"count": 0})), Some(&schema), &Map::new()),
            ["value /count: must be >=1, but got 0"]
        );
        assert_eq!(
            problems(&map(&json!({"x": 0})), Some(&schema), &Map::new()).len(),
            1
        );
        assert_eq!(
            problems(&Map::new(), Some(&json!({"type": 5})), &Map::new()).len(),
            1
        );
    }
}
