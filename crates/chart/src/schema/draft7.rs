//! The validator of Helm 3, xeipuu/gojsonschema: drafts 4 to 7, newer keywords are ignored.
//!
//! If all alternatives fail, the errors of the one with the highest score are reported. Each check changes the score, so
//! that the checks have to be in the order of gojsonschema.

mod array;
mod check;
pub(super) mod format;
mod object;
mod reference;
mod scalar;
mod types;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;

use serde_json::{Map, Value as Json};

use super::SchemaError;

pub(super) use reference::resolve;

/// The maximum nesting of references.
const MAX_DEPTH: usize = 256;

/// Validates a value. The error has one line per violation.
pub(super) fn validate(schema: &Json, instance: &Json) -> Result<(), SchemaError> {
    check::check(schema)?;
    let validator = Validator {
        root: schema,
        draft: draft_of(schema),
        patterns: RefCell::default(),
    };
    let mut result = ValidationResult::default();
    validator.validate(schema, instance, &JsonContext::Root, 0, &mut result);
    if result.errors.is_empty() {
        return Ok(());
    }
    let mut message = String::new();
    for error in result.errors {
        let _ = writeln!(message, "- {error}");
    }
    Err(SchemaError(message))
}

/// The draft that `$schema` declares.
fn draft_of(schema: &Json) -> u8 {
    let url = schema
        .get("$schema")
        .and_then(Json::as_str)
        .unwrap_or_default();
    match url.trim_end_matches('#') {
        "http://json-schema.org/draft-04/schema" => 4,
        "http://json-schema.org/draft-06/schema" => 6,
        _ => 7,
    }
}

/// The path of a value: a linked list from the value to the root.
enum JsonContext<'a> {
    Root,
    Child(&'a Self, String),
}

impl<'a> JsonContext<'a> {
    fn child(&'a self, name: &str) -> Self {
        JsonContext::Child(self, name.to_owned())
    }

    fn path(&self) -> String {
        match self {
            Self::Root => "(root)".to_owned(),
            Self::Child(JsonContext::Root, name) => name.clone(),
            Self::Child(parent, name) => format!("{}.{name}", parent.path()),
        }
    }
}

/// The errors, and the score of the value.
#[derive(Default)]
struct ValidationResult {
    errors: Vec<String>,
    score: i64,
}

impl ValidationResult {
    fn add_error(&mut self, context: &JsonContext<'_>, message: impl AsRef<str>) {
        self.errors
            .push(format!("{}: {}", context.path(), message.as_ref()));
        self.score -= 2;
    }

    fn increment_score(&mut self) {
        self.score += 1;
    }

    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.score += other.score;
    }
}

/// The schema that a value is validated against, and the path of the value.
#[derive(Clone, Copy)]
struct SubSchema<'a> {
    schema: &'a Map<String, Json>,
    context: &'a JsonContext<'a>,
    depth: usize,
}

impl<'a> SubSchema<'a> {
    fn list(&self, key: &str) -> &'a [Json] {
        let list = self.schema.get(key).and_then(Json::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    fn map(&self, key: &str) -> impl Iterator<Item = (&'a String, &'a Json)> {
        let map = self.schema.get(key).and_then(Json::as_object);
        map.into_iter().flat_map(Map::iter)
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.schema.get(key).and_then(Json::as_u64)
    }
}

struct Validator<'s> {
    root: &'s Json,
    /// 4, 6 or 7. A schema without a draft supports all keywords.
    draft: u8,
    /// Compiled patterns; `None` for one that does not compile.
    patterns: RefCell<HashMap<String, Option<regex::Regex>>>,
}

impl Validator<'_> {
    /// Validates into a separate result, whose errors may be dropped.
    fn sub_validate(
        &self,
        schema: &Json,
        value: &Json,
        context: &JsonContext<'_>,
        depth: usize,
    ) -> ValidationResult {
        let mut result = ValidationResult::default();
        self.validate(schema, value, context, depth, &mut result);
        result
    }

    fn validate(
        &self,
        schema: &Json,
        value: &Json,
        context: &JsonContext<'_>,
        depth: usize,
        result: &mut ValidationResult,
    ) {
        if depth > MAX_DEPTH {
            return result.add_error(context, "References are nested too deeply");
        }
        let schema = match schema {
            Json::Bool(false) if self.draft >= 6 => {
                return result.add_error(context, "False always fails validation");
            }
            Json::Object(schema) => schema,
            _ => return,
        };
        if let Some(Json::String(reference)) = schema.get("$ref") {
            if let Some(target) = resolve(self.root, reference) {
                self.validate(target, value, context, depth + 1, result);
            }
            return;
        }
        if let Some(message) = types::mismatch(schema, value) {
            return result.add_error(context, message);
        }
        let subschema = SubSchema {
            schema,
            context,
            depth: depth + 1,
        };
        self.combined(subschema, value, result);
        match value {
            Json::Null | Json::Bool(_) => self.common(subschema, value, result),
            Json::Number(_) => {
                scalar::number(subschema, value, result);
                self.common(subschema, value, result);
            }
            Json::String(text) => {
                self.common(subschema, value, result);
                self.string(subschema, text, result);
            }
            Json::Array(items) => {
                self.array(subschema, items, result);
                self.common(subschema, value, result);
            }
            Json::Object(entries) => {
                self.object(subschema, entries, result);
                self.common(subschema, value, result);
                self.properties(subschema, entries, result);
            }
        }
        result.increment_score();
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`, `dependencies`, `if`.
    fn combined(&self, subschema: SubSchema<'_>, value: &Json, result: &mut ValidationResult) {
        let SubSchema { context, depth, .. } = subschema;
        self.any_or_one(subschema, value, result);
        let mut failed = false;
        for schema in subschema.list("allOf") {
            let sub_result = self.sub_validate(schema, value, context, depth);
            failed |= !sub_result.is_valid();
            result.merge(sub_result);
        }
        if failed {
            result.add_error(context, "Must validate all the schemas (allOf)");
        }
        if let Some(not) = subschema.schema.get("not")
            && self.sub_validate(not, value, context, depth).is_valid()
        {
            result.add_error(context, "Must not validate the schema (not)");
        }
        self.dependencies(subschema, value, result);
        if let Some(condition) = subschema.schema.get("if").filter(|_| self.draft >= 7) {
            let (keyword, message) = if self
                .sub_validate(condition, value, context, depth)
                .is_valid()
            {
                ("then", "Must validate \"then\" as \"if\" was valid")
            } else {
                ("else", "Must validate \"else\" as \"if\" was not valid")
            };
            if let Some(branch) = subschema.schema.get(keyword) {
                let sub_result = self.sub_validate(branch, value, context, depth);
                if !sub_result.is_valid() {
                    result.add_error(context, message);
                    result.merge(sub_result);
                }
            }
        }
        result.increment_score();
    }

    fn any_or_one(&self, subschema: SubSchema<'_>, value: &Json, result: &mut ValidationResult) {
        let any = subschema.list("anyOf");
        if !any.is_empty() {
            let (valid, best) = self.alternatives(subschema, any, value, true);
            if valid == 0 {
                result.add_error(
                    subschema.context,
                    "Must validate at least one schema (anyOf)",
                );
                result.merge(best.unwrap_or_default());
            }
        }
        let one = subschema.list("oneOf");
        if !one.is_empty() {
            let (valid, best) = self.alternatives(subschema, one, value, false);
            if valid != 1 {
                result.add_error(
                    subschema.context,
                    "Must validate one and only one schema (oneOf)",
                );
                if valid == 0 {
                    result.merge(best.unwrap_or_default());
                }
            }
        }
    }

    /// The number of valid alternatives, and the invalid one with the highest score.
    fn alternatives(
        &self,
        subschema: SubSchema<'_>,
        schemas: &[Json],
        value: &Json,
        first_is_enough: bool,
    ) -> (usize, Option<ValidationResult>) {
        let mut valid = 0;
        let mut best: Option<ValidationResult> = None;
        for schema in schemas {
            if valid > 0 && first_is_enough {
                break;
            }
            let sub_result = self.sub_validate(schema, value, subschema.context, subschema.depth);
            if sub_result.is_valid() {
                valid += 1;
            } else if best
                .as_ref()
                .is_none_or(|best| sub_result.score > best.score)
            {
                best = Some(sub_result);
            }
        }
        (valid, best)
    }

    fn dependencies(&self, subschema: SubSchema<'_>, value: &Json, result: &mut ValidationResult) {
        let Json::Object(entries) = value else {
            return;
        };
        for (name, dependency) in subschema.map("dependencies") {
            if !entries.contains_key(name) {
                continue;
            }
            let Json::Array(names) = dependency else {
                self.validate(
                    dependency,
                    value,
                    subschema.context,
                    subschema.depth,
                    result,
                );
                continue;
            };
            for name in names.iter().filter_map(Json::as_str) {
                if !entries.contains_key(name) {
                    result.add_error(subschema.context, format!("Has a dependency on {name}"));
                }
            }
        }
    }
}
