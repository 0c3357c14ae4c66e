//! A quick yes: whether values surely meet a schema, without compiling it.
//!
//! Most schemas of charts use a small part of JSON Schema that means the same in every draft, and most values are
//! right. This knows just that part. Whatever else a schema has, or is wrong in, and whatever values are not right,
//! gets no yes here and goes the whole way, which also finds the words for what is wrong.

mod shape;

use regex::Regex;
use serde_json::{Map, Number, Value};

/// References may lead this deep.
const MAX_DEPTH: usize = 64;

/// Numbers beyond are not told apart by a float.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether the instance surely meets the schema.
pub(super) fn accepts(schema: &Value, instance: &Value) -> bool {
    let root = Root { schema, depth: 0 };
    shape::is_plain(schema) && root.accepts(schema, instance) == Some(true)
}

/// The whole document, which references point into.
#[derive(Clone, Copy)]
struct Root<'s> {
    schema: &'s Value,
    depth: usize,
}

impl<'s> Root<'s> {
    /// Whether the instance meets the schema; `None` if that is not known here.
    fn accepts(self, schema: &'s Value, instance: &Value) -> Option<bool> {
        let root = Self {
            depth: self.depth + 1,
            ..self
        };
        if root.depth > MAX_DEPTH {
            return None;
        }
        let schema = match schema {
            Value::Bool(accepts) => return Some(*accepts),
            Value::Object(schema) => schema,
            _ => return None,
        };
        for (keyword, argument) in schema {
            if !root.keyword(schema, keyword, argument, instance)? {
                return Some(false);
            }
        }
        Some(true)
    }

    fn keyword(
        self,
        schema: &'s Map<String, Value>,
        keyword: &str,
        argument: &'s Value,
        instance: &Value,
    ) -> Option<bool> {
        Some(match (keyword, instance) {
            ("$ref", _) => self.accepts(self.target(argument)?, instance)?,
            ("type", _) => has_type(argument, instance)?,
            ("enum", _) => any(argument.as_array()?, |allowed| equal(allowed, instance))?,
            ("const", _) => equal(argument, instance)?,
            ("allOf", _) => all(argument.as_array()?, |part| self.accepts(part, instance))?,
            ("anyOf", _) => any(argument.as_array()?, |part| self.accepts(part, instance))?,
            ("oneOf", _) => self.count(argument.as_array()?, instance)? == 1,
            ("not", _) => !self.accepts(argument, instance)?,
            ("if", _) => self.branch(schema, argument, instance)?,
            ("required", Value::Object(object)) => argument
                .as_array()?
                .iter()
                .all(|name| name.as_str().is_some_and(|name| object.contains_key(name))),
            ("properties", Value::Object(object)) => {
                self.properties(argument.as_object()?, object)?
            }
            ("patternProperties", Value::Object(object)) => {
                self.patterns(argument.as_object()?, object)?
            }
            ("additionalProperties", Value::Object(object)) => {
                self.additional(schema, argument, object)?
            }
            ("minProperties", Value::Object(object)) => object.len() as u64 >= argument.as_u64()?,
            ("maxProperties", Value::Object(object)) => object.len() as u64 <= argument.as_u64()?,
            ("items", Value::Array(items)) => all(items, |item| self.accepts(argument, item))?,
            ("minItems", Value::Array(items)) => items.len() as u64 >= argument.as_u64()?,
            ("maxItems", Value::Array(items)) => items.len() as u64 <= argument.as_u64()?,
            ("uniqueItems", Value::Array(items)) => !argument.as_bool()? || are_unique(items)?,
            ("minLength", Value::String(text)) => {
                text.chars().count() as u64 >= argument.as_u64()?
            }
            ("maxLength", Value::String(text)) => {
                text.chars().count() as u64 <= argument.as_u64()?
            }
            ("pattern", Value::String(text)) => Regex::new(argument.as_str()?).ok()?.is_match(text),
            ("minimum", Value::Number(number)) => exact(number)? >= argument.as_f64()?,
            ("maximum", Value::Number(number)) => exact(number)? <= argument.as_f64()?,
            ("exclusiveMinimum", Value::Number(number)) => exact(number)? > argument.as_f64()?,
            ("exclusiveMaximum", Value::Number(number)) => exact(number)? < argument.as_f64()?,
            // The shape allows nothing else that says anything about this instance.
            _ => true,
        })
    }

    fn target(self, reference: &Value) -> Option<&'s Value> {
        let (section, name) = shape::local_reference(reference)?;
        self.schema.get(section)?.get(name)
    }

    fn count(self, parts: &'s [Value], instance: &Value) -> Option<usize> {
        parts.iter().try_fold(0, |count, part| {
            Some(count + usize::from(self.accepts(part, instance)?))
        })
    }

    fn branch(
        self,
        schema: &'s Map<String, Value>,
        condition: &'s Value,
        instance: &Value,
    ) -> Option<bool> {
        let branch = if self.accepts(condition, instance)? {
            "then"
        } else {
            "else"
        };
        schema
            .get(branch)
            .map_or(Some(true), |branch| self.accepts(branch, instance))
    }

    fn properties(
        self,
        properties: &'s Map<String, Value>,
        object: &Map<String, Value>,
    ) -> Option<bool> {
        for (name, value) in object {
            if let Some(schema) = properties.get(name)
                && !self.accepts(schema, value)?
            {
                return Some(false);
            }
        }
        Some(true)
    }

    fn patterns(
        self,
        patterns: &'s Map<String, Value>,
        object: &Map<String, Value>,
    ) -> Option<bool> {
        for (pattern, schema) in patterns {
            let pattern = Regex::new(pattern).ok()?;
            for (_, value) in object.iter().filter(|(name, _)| pattern.is_match(name)) {
                if !self.accepts(schema, value)? {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    fn additional(
        self,
        schema: &'s Map<String, Value>,
        argument: &'s Value,
        object: &Map<String, Value>,
    ) -> Option<bool> {
        if argument == &Value::Bool(true) {
            return Some(true);
        }
        let named = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let patterns: Vec<Regex> = patterns
            .into_iter()
            .flatten()
            .map(|(pattern, _)| Regex::new(pattern).ok())
            .collect::<Option<_>>()?;
        for (name, value) in object {
            let is_known = named.is_some_and(|named| named.contains_key(name))
                || patterns.iter().any(|pattern| pattern.is_match(name));
            if !is_known && !self.accepts(argument, value)? {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// Whether all are, if that is known of each up to the first that is not.
fn all<'t, T>(items: &'t [T], mut test: impl FnMut(&'t T) -> Option<bool>) -> Option<bool> {
    for item in items {
        if !test(item)? {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether any is, if that is known of each up to the first that is.
fn any<'t, T>(items: &'t [T], mut test: impl FnMut(&'t T) -> Option<bool>) -> Option<bool> {
    for item in items {
        if test(item)? {
            return Some(true);
        }
    }
    Some(false)
}

fn has_type(wanted: &Value, instance: &Value) -> Option<bool> {
    match wanted {
        Value::Array(wanted) => any(wanted, |wanted| has_type(wanted, instance)),
        Value::String(wanted) => Some(match (wanted.as_str(), instance) {
            ("null", Value::Null)
            | ("boolean", Value::Bool(_))
            | ("number", Value::Number(_))
            | ("string", Value::String(_))
            | ("array", Value::Array(_))
            | ("object", Value::Object(_)) => true,
            ("integer", Value::Number(number)) => exact(number)?.fract() == 0.0,
            _ => false,
        }),
        _ => None,
    }
}

fn exact(number: &Number) -> Option<f64> {
    number.as_f64().filter(|number| number.abs() <= MAX_EXACT)
}

/// Equality as JSON Schema has it: 1 is 1.0.
fn equal(left: &Value, right: &Value) -> Option<bool> {
    Some(match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            exact(left)?.total_cmp(&exact(right)?).is_eq()
        }
        (Value::Array(_) | Value::Object(_), Value::Array(_) | Value::Object(_)) => return None,
        _ => left == right,
    })
}

fn are_unique(items: &[Value]) -> Option<bool> {
    for (at, item) in items.iter().enumerate() {
        if any(&items[..at], |earlier| equal(earlier, item))? {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, right: &[Value], wrong: &[Value]) {
        for instance in right {
            assert!(accepts(schema, instance), "{schema} must accept {instance}");
        }
        for instance in wrong {
            assert!(
                !accepts(schema, instance),
                "{schema} must not accept {instance}"
            );
        }
    }

    #[test]
    fn types_ranges_and_members_are_checked() {
        let schema = json!({"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
            "a": {"type": "integer", "minimum": 1}, "b": {"enum": ["x", 2]}, "c": {"type": ["string", "null"], "pattern": "^a"},
        }});
        check(
            &schema,
            &[
                json!({"a": 1}),
                json!({"a": 2.0, "b": 2}),
                json!({"a": 1, "c": null}),
                json!({"a": 1, "c": "ab"}),
            ],
            &[
                json!({}),
                json!({"a": 0}),
                json!({"a": 1.5}),
                json!({"a": 1, "b": "y"}),
                json!({"a": 1, "c": "b"}),
                json!({"a": 1, "d": 1}),
            ],
        );
    }

    #[test]
    fn combinations_and_references_are_followed() {
        let schema = json!({"$defs": {"port": {"type": "integer"}}, "anyOf": [{"$ref": "#/$defs/port"}, {"const": "http"}],
            "not": {"const": 0}, "if": {"type": "integer"}, "then": {"maximum": 9}});
        check(
            &schema,
            &[json!(1), json!("http")],
            &[json!(0), json!(10), json!("https")],
        );
    }

    #[test]
    fn what_is_not_plain_gets_no_yes() {
        for schema in [
            json!({"type": "strng"}),
            json!({"properties": {"unused": {"required": true}}}),
            json!({"unevaluatedProperties": false}),
            json!({"$ref": "other.json"}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
            json!({"pattern": "\\d"}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
        ] {
            check(&schema, &[], &[json!({}), json!("1")]);
        }
    }
}
