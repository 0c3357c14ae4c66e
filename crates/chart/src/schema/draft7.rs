//! Schemas as Helm 3 understands them: drafts 4 to 7 in one, newer keywords ignored, and its very own messages.
//!
//! Where several alternatives fail, the errors of the one that got furthest are shown. How far one got is a score
//! that every check moves, so the checks here are made in Helm's order even where only their count matters.

mod array;
mod check;
pub(super) mod format;
mod kinds;
mod object;
mod reference;
mod scalar;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;

use serde_json::{Map, Value as Json};

/// References may lead into each other this deep.
const MAX_DEPTH: usize = 256;

/// The message has one line per error.
pub(super) fn validate(schema: &Json, instance: &Json) -> Result<(), String> {
    check::check(schema)?;
    let validator = Validator {
        root: schema,
        draft: draft_of(schema),
        patterns: RefCell::default(),
    };
    let mut outcome = Outcome::default();
    validator.check(schema, instance, &Place::Root, 0, &mut outcome);
    if outcome.errors.is_empty() {
        return Ok(());
    }
    let mut message = String::new();
    for error in outcome.errors {
        let _ = writeln!(message, "- {error}");
    }
    Err(message)
}

/// Which draft the schema says it is written in.
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

/// Where in the values: a list from the inside out.
enum Place<'a> {
    Root,
    Below(&'a Self, String),
}

impl<'a> Place<'a> {
    fn below(&'a self, name: &str) -> Self {
        Place::Below(self, name.to_owned())
    }

    fn path(&self) -> String {
        match self {
            Self::Root => "(root)".to_owned(),
            Self::Below(Place::Root, name) => name.clone(),
            Self::Below(outer, name) => format!("{}.{name}", outer.path()),
        }
    }
}

/// Errors so far, and how far the value got.
#[derive(Default)]
struct Outcome {
    errors: Vec<String>,
    score: i64,
}

impl Outcome {
    fn fail(&mut self, place: &Place<'_>, message: impl AsRef<str>) {
        self.errors
            .push(format!("{}: {}", place.path(), message.as_ref()));
        self.score -= 2;
    }

    fn step(&mut self) {
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

/// A schema on its way over a value.
#[derive(Clone, Copy)]
struct Spot<'a> {
    schema: &'a Map<String, Json>,
    place: &'a Place<'a>,
    depth: usize,
}

impl<'a> Spot<'a> {
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
    /// 4, 6 or 7; a schema that names no draft gets everything.
    draft: u8,
    /// Compiled patterns; `None` for one that does not compile.
    patterns: RefCell<HashMap<String, Option<regex::Regex>>>,
}

impl Validator<'_> {
    /// A check of its own, whose errors may be dropped.
    fn sub(&self, schema: &Json, value: &Json, place: &Place<'_>, depth: usize) -> Outcome {
        let mut outcome = Outcome::default();
        self.check(schema, value, place, depth, &mut outcome);
        outcome
    }

    fn check(
        &self,
        schema: &Json,
        value: &Json,
        place: &Place<'_>,
        depth: usize,
        outcome: &mut Outcome,
    ) {
        if depth > MAX_DEPTH {
            return;
        }
        let schema = match schema {
            Json::Bool(false) if self.draft >= 6 => {
                return outcome.fail(place, "False always fails validation");
            }
            Json::Object(schema) => schema,
            _ => return,
        };
        if let Some(Json::String(reference)) = schema.get("$ref") {
            if let Some(target) = reference::resolve(self.root, reference) {
                self.check(target, value, place, depth + 1, outcome);
            }
            return;
        }
        if let Some(message) = kinds::mismatch(schema, value) {
            return outcome.fail(place, message);
        }
        let spot = Spot {
            schema,
            place,
            depth: depth + 1,
        };
        self.combined(spot, value, outcome);
        match value {
            Json::Null | Json::Bool(_) => self.common(spot, value, outcome),
            Json::Number(_) => {
                scalar::number(spot, value, outcome);
                self.common(spot, value, outcome);
            }
            Json::String(text) => {
                self.common(spot, value, outcome);
                self.string(spot, text, outcome);
            }
            Json::Array(items) => {
                self.array(spot, items, outcome);
                self.common(spot, value, outcome);
            }
            Json::Object(entries) => {
                self.object(spot, entries, outcome);
                self.common(spot, value, outcome);
                self.properties(spot, entries, outcome);
            }
        }
        outcome.step();
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`, `dependencies`, `if`.
    fn combined(&self, spot: Spot<'_>, value: &Json, outcome: &mut Outcome) {
        let Spot { place, depth, .. } = spot;
        self.any_or_one(spot, value, outcome);
        let mut failed = false;
        for schema in spot.list("allOf") {
            let result = self.sub(schema, value, place, depth);
            failed |= !result.is_valid();
            outcome.merge(result);
        }
        if failed {
            outcome.fail(place, "Must validate all the schemas (allOf)");
        }
        if let Some(not) = spot.schema.get("not")
            && self.sub(not, value, place, depth).is_valid()
        {
            outcome.fail(place, "Must not validate the schema (not)");
        }
        self.dependencies(spot, value, outcome);
        if let Some(condition) = spot.schema.get("if").filter(|_| self.draft >= 7) {
            let (keyword, message) = if self.sub(condition, value, place, depth).is_valid() {
                ("then", "Must validate \"then\" as \"if\" was valid")
            } else {
                ("else", "Must validate \"else\" as \"if\" was not valid")
            };
            if let Some(branch) = spot.schema.get(keyword) {
                let result = self.sub(branch, value, place, depth);
                if !result.is_valid() {
                    outcome.fail(place, message);
                    outcome.merge(result);
                }
            }
        }
        outcome.step();
    }

    fn any_or_one(&self, spot: Spot<'_>, value: &Json, outcome: &mut Outcome) {
        let any = spot.list("anyOf");
        if !any.is_empty() {
            let (valid, best) = self.alternatives(spot, any, value, true);
            if valid == 0 {
                outcome.fail(spot.place, "Must validate at least one schema (anyOf)");
                outcome.merge(best.unwrap_or_default());
            }
        }
        let one = spot.list("oneOf");
        if !one.is_empty() {
            let (valid, best) = self.alternatives(spot, one, value, false);
            if valid != 1 {
                outcome.fail(spot.place, "Must validate one and only one schema (oneOf)");
                if valid == 0 {
                    outcome.merge(best.unwrap_or_default());
                }
            }
        }
    }

    /// How many alternatives hold, and the errors of the one that came closest.
    fn alternatives(
        &self,
        spot: Spot<'_>,
        schemas: &[Json],
        value: &Json,
        first_is_enough: bool,
    ) -> (usize, Option<Outcome>) {
        let mut valid = 0;
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            if valid > 0 && first_is_enough {
                break;
            }
            let result = self.sub(schema, value, spot.place, spot.depth);
            if result.is_valid() {
                valid += 1;
            } else if best.as_ref().is_none_or(|best| result.score > best.score) {
                best = Some(result);
            }
        }
        (valid, best)
    }

    fn dependencies(&self, spot: Spot<'_>, value: &Json, outcome: &mut Outcome) {
        let Json::Object(entries) = value else {
            return;
        };
        for (name, needs) in spot.map("dependencies") {
            if !entries.contains_key(name) {
                continue;
            }
            let Json::Array(names) = needs else {
                self.check(needs, value, spot.place, spot.depth, outcome);
                continue;
            };
            for needed in names.iter().filter_map(Json::as_str) {
                if !entries.contains_key(needed) {
                    outcome.fail(spot.place, format!("Has a dependency on {needed}"));
                }
            }
        }
    }
}
