//! The cost of a validation. Validators visit a value once for each way to reach it through the schema, so a small schema
//! with references can take forever.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::SchemaError;
use super::draft7::resolve;

/// The maximum number of pairs of schema and value that a validator visits: a few seconds.
const MAX_VISITS: u64 = 10_000_000;

/// The maximum number of different pairs.
const MAX_PAIRS: usize = 1_000_000;

/// The maximum nesting of schemas and values.
const MAX_DEPTH: usize = 2000;

/// Keywords whose schemas apply to the value itself.
const IN_PLACE: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];

/// Keywords whose schemas apply to all members of the value, as far as this module knows.
const MEMBERS: [&str; 8] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
];

/// Fails if a validator would visit too many values.
pub(super) fn check(schema: &Json, instance: &Json) -> Result<(), SchemaError> {
    let mut cost = Cost {
        root: schema,
        known: HashMap::new(),
    };
    match cost.visits(schema, instance, 0) {
        Some(visits) if visits <= MAX_VISITS => Ok(()),
        _ => Err(SchemaError(
            "schema is too complex for these values".to_owned(),
        )),
    }
}

struct Cost<'s> {
    root: &'s Json,
    /// The visits of each pair of schema and value, by their addresses.
    known: HashMap<(usize, usize), u64>,
}

impl<'s> Cost<'s> {
    /// The number of visits that validating the value takes, or a number above the maximum.
    fn visits(&mut self, schema: &'s Json, value: &Json, depth: usize) -> Option<u64> {
        let Json::Object(keywords) = schema else {
            return Some(1);
        };
        let pair = (
            std::ptr::from_ref(schema).addr(),
            std::ptr::from_ref(value).addr(),
        );
        if let Some(known) = self.known.get(&pair) {
            return Some(*known);
        }
        if depth > MAX_DEPTH || self.known.len() >= MAX_PAIRS {
            return None;
        }
        // A reference to a schema that is being visited counts once: validators reject it.
        self.known.insert(pair, 1);
        let mut visits = 1_u64;
        let mut add = |more: Option<u64>| {
            visits = visits.saturating_add(more?);
            (visits <= MAX_VISITS).then_some(())
        };
        for reference in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Json::String(reference)) = keywords.get(reference) {
                let target = resolve(self.root, reference).unwrap_or(self.root);
                add(self.visits(target, value, depth + 1))?;
            }
        }
        for schema in IN_PLACE
            .iter()
            .flat_map(|keyword| schemas(keywords, keyword))
        {
            add(self.visits(schema, value, depth + 1))?;
        }
        for (name, member) in members(value) {
            let property = keywords.get("properties").zip(name);
            let property = property.and_then(|(properties, name)| properties.get(name));
            if let Some(schema) = property {
                add(self.visits(schema, member, depth + 1))?;
            }
            for schema in MEMBERS
                .iter()
                .flat_map(|keyword| schemas(keywords, keyword))
            {
                add(self.visits(schema, member, depth + 1))?;
            }
        }
        self.known.insert(pair, visits);
        Some(visits)
    }
}

/// The schemas of a keyword, which is a schema, a list or a map of them.
fn schemas<'s>(keywords: &'s Map<String, Json>, keyword: &str) -> Vec<&'s Json> {
    match keywords.get(keyword) {
        Some(Json::Array(schemas)) => schemas.iter().collect(),
        Some(Json::Object(schemas)) if is_map(keyword) => schemas.values().collect(),
        Some(schema) => vec![schema],
        None => Vec::new(),
    }
}

fn is_map(keyword: &str) -> bool {
    matches!(
        keyword,
        "patternProperties" | "dependentSchemas" | "dependencies"
    )
}

fn members(value: &Json) -> Vec<(Option<&str>, &Json)> {
    match value {
        Json::Array(items) => items.iter().map(|item| (None, item)).collect(),
        Json::Object(entries) => entries
            .iter()
            .map(|(name, value)| (Some(name.as_str()), value))
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A chain of definitions, each of which refers to the next one twice.
    fn doubling(levels: usize) -> Json {
        let mut definitions = Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/definitions/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({"oneOf": [next, next]}));
        }
        definitions.insert(format!("d{levels}"), json!({"type": "string"}));
        json!({"definitions": definitions, "$ref": "#/definitions/d0"})
    }

    #[test]
    fn schemas_that_double_are_rejected() {
        assert!(check(&doubling(10), &json!(1)).is_ok());
        assert!(check(&doubling(60), &json!(1)).is_err());
    }

    #[test]
    fn values_that_double_are_rejected() {
        let next = json!({"$ref": "#"});
        let schema = json!({"properties": {"a": {"anyOf": [next, next]}}});
        let mut value = json!(1);
        for _ in 0..60 {
            value = json!({"a": value});
        }
        assert!(check(&schema, &value["a"]["a"]["a"]).is_err());
        assert!(check(&json!({"properties": {"a": next}}), &value).is_ok());
    }

    #[test]
    fn references_to_themselves_end() {
        assert!(check(&json!({"$ref": "#"}), &json!(1)).is_ok());
    }
}
