//! Schemas as Helm 3 understands them: drafts 4 to 7 in one, newer keywords ignored, and its very own messages.
//!
//! Where several alternatives fail, the errors of the one that got furthest are shown. How far one got is a score
//! that every check moves, so the checks here are made in Helm's order even where only their count matters.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;

use serde_json::{Map, Value as Json};

use super::{draft7_check, draft7_format};

/// References may lead into each other this deep.
const MAX_DEPTH: usize = 256;

/// The message has one line per error.
pub(super) fn validate(schema: &Json, instance: &Json) -> Result<(), String> {
    draft7_check::check(schema)?;
    let validator = Validator {
        root: schema,
        draft: draft_of(schema),
        patterns: RefCell::default(),
    };
    let mut outcome = Outcome::default();
    validator.check(schema, instance, &Place::Root, &mut outcome, 0);
    if outcome.errors.is_empty() {
        return Ok(());
    }
    let mut message = String::new();
    for error in outcome.errors {
        let _ = writeln!(message, "- {error}");
    }
    Err(message)
}

/// Where in the values: a list from the inside out.
enum Place<'a> {
    Root,
    Below(&'a Self, String),
}

impl Place<'_> {
    fn path(&self) -> String {
        match self {
            Self::Root => "(root)".to_owned(),
            Self::Below(Place::Root, name) => name.clone(),
            Self::Below(outer, name) => format!("{}.{name}", outer.path()),
        }
    }
}

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

struct Validator<'s> {
    root: &'s Json,
    /// 4, 6 or 7; a schema that names no draft gets everything.
    draft: u8,
    /// Compiled patterns; `None` for one that does not compile.
    patterns: RefCell<HashMap<String, Option<regex::Regex>>>,
}

impl Validator<'_> {
    fn sub(&self, schema: &Json, value: &Json, place: &Place<'_>, depth: usize) -> Outcome {
        let mut outcome = Outcome::default();
        self.check(schema, value, place, &mut outcome, depth);
        outcome
    }

    fn check(
        &self,
        schema: &Json,
        value: &Json,
        place: &Place<'_>,
        outcome: &mut Outcome,
        depth: usize,
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
            if let Some(target) = self.resolve(reference) {
                self.check(target, value, place, outcome, depth + 1);
            }
            return;
        }
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|wanted| is_of_type(value, wanted)) {
            let expected = match types.as_slice() {
                [only] => (*only).to_owned(),
                several => format!("[{}]", several.join(",")),
            };
            let given = type_name(value);
            outcome.fail(
                place,
                format!("Invalid type. Expected: {expected}, given: {given}"),
            );
            return;
        }
        self.combined(schema, value, place, outcome, depth);
        match value {
            Json::Null | Json::Bool(_) => self.common(schema, value, place, outcome),
            Json::Number(_) => {
                number(schema, value, place, outcome);
                self.common(schema, value, place, outcome);
            }
            Json::String(text) => {
                self.common(schema, value, place, outcome);
                self.string(schema, text, place, outcome);
            }
            Json::Array(items) => {
                self.array(schema, items, place, outcome, depth);
                self.common(schema, value, place, outcome);
            }
            Json::Object(entries) => {
                self.object(schema, entries, place, outcome, depth);
                self.common(schema, value, place, outcome);
                for (name, below) in map(schema, "properties") {
                    if let Some(value) = entries.get(name) {
                        let place = Place::Below(place, name.clone());
                        self.check(below, value, &place, outcome, depth + 1);
                    }
                }
            }
        }
        outcome.step();
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`, `dependencies`, `if`.
    fn combined(
        &self,
        schema: &Map<String, Json>,
        value: &Json,
        place: &Place<'_>,
        outcome: &mut Outcome,
        depth: usize,
    ) {
        let depth = depth + 1;
        let any = list(schema, "anyOf");
        if !any.is_empty() {
            let (valid, best) = self.alternatives(any, value, place, depth, true);
            if valid == 0 {
                outcome.fail(place, "Must validate at least one schema (anyOf)");
                outcome.merge(best.unwrap_or_default());
            }
        }
        let one = list(schema, "oneOf");
        if !one.is_empty() {
            let (valid, best) = self.alternatives(one, value, place, depth, false);
            if valid != 1 {
                outcome.fail(place, "Must validate one and only one schema (oneOf)");
                if valid == 0 {
                    outcome.merge(best.unwrap_or_default());
                }
            }
        }
        let all = list(schema, "allOf");
        let mut failed = false;
        for schema in all {
            let result = self.sub(schema, value, place, depth);
            failed |= !result.is_valid();
            outcome.merge(result);
        }
        if failed {
            outcome.fail(place, "Must validate all the schemas (allOf)");
        }
        if let Some(not) = schema.get("not")
            && self.sub(not, value, place, depth).is_valid()
        {
            outcome.fail(place, "Must not validate the schema (not)");
        }
        self.dependencies(schema, value, place, outcome, depth);
        if let Some(condition) = schema.get("if").filter(|_| self.draft >= 7) {
            let (keyword, message) = if self.sub(condition, value, place, depth).is_valid() {
                ("then", "Must validate \"then\" as \"if\" was valid")
            } else {
                ("else", "Must validate \"else\" as \"if\" was not valid")
            };
            if let Some(branch) = schema.get(keyword) {
                let result = self.sub(branch, value, place, depth);
                if !result.is_valid() {
                    outcome.fail(place, message);
                    outcome.merge(result);
                }
            }
        }
        outcome.step();
    }

    /// How many alternatives hold, and the errors of the one that came closest.
    fn alternatives(
        &self,
        schemas: &[Json],
        value: &Json,
        place: &Place<'_>,
        depth: usize,
        first_is_enough: bool,
    ) -> (usize, Option<Outcome>) {
        let mut valid = 0;
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            if valid > 0 && first_is_enough {
                break;
            }
            let result = self.sub(schema, value, place, depth);
            if result.is_valid() {
                valid += 1;
            } else if best.as_ref().is_none_or(|best| result.score > best.score) {
                best = Some(result);
            }
        }
        (valid, best)
    }

    fn dependencies(
        &self,
        schema: &Map<String, Json>,
        value: &Json,
        place: &Place<'_>,
        outcome: &mut Outcome,
        depth: usize,
    ) {
        let Json::Object(entries) = value else {
            return;
        };
        for (name, needs) in map(schema, "dependencies") {
            if !entries.contains_key(name) {
                continue;
            }
            let Json::Array(names) = needs else {
                self.check(needs, value, place, outcome, depth);
                continue;
            };
            for needed in names.iter().filter_map(Json::as_str) {
                if !entries.contains_key(needed) {
                    outcome.fail(place, format!("Has a dependency on {needed}"));
                }
            }
        }
    }

    fn array(
        &self,
        schema: &Map<String, Json>,
        items: &[Json],
        place: &Place<'_>,
        outcome: &mut Outcome,
        depth: usize,
    ) {
        let depth = depth + 1;
        let below = |at: usize| Place::Below(place, at.to_string());
        match schema.get("items") {
            Some(Json::Array(schemas)) if !schemas.is_empty() => {
                let rest = schema.get("additionalItems");
                for (at, item) in items.iter().enumerate() {
                    match (schemas.get(at), rest) {
                        (Some(schema), _) | (None, Some(schema @ Json::Object(_))) => {
                            outcome.merge(self.sub(schema, item, &below(at), depth));
                        }
                        _ => {}
                    }
                }
                if schemas.len() < items.len() && rest == Some(&Json::Bool(false)) {
                    outcome.fail(place, "No additional items allowed on array");
                }
            }
            Some(schema @ (Json::Object(_) | Json::Bool(_))) => {
                for (at, item) in items.iter().enumerate() {
                    outcome.merge(self.sub(schema, item, &below(at), depth));
                }
            }
            _ => {}
        }
        if let Some(min) = integer(schema, "minItems")
            && (items.len() as u64) < min
        {
            outcome.fail(place, format!("Array must have at least {min} items"));
        }
        if let Some(max) = integer(schema, "maxItems")
            && items.len() as u64 > max
        {
            outcome.fail(place, format!("Array must have at most {max} items"));
        }
        if schema.get("uniqueItems") == Some(&Json::Bool(true)) {
            unique(items, place, outcome);
        }
        if let Some(wanted) = schema.get("contains").filter(|_| self.draft >= 6) {
            self.contains(wanted, items, place, outcome, depth);
        }
        outcome.step();
    }

    fn contains(
        &self,
        wanted: &Json,
        items: &[Json],
        place: &Place<'_>,
        outcome: &mut Outcome,
        depth: usize,
    ) {
        let mut best: Option<Outcome> = None;
        for (at, item) in items.iter().enumerate() {
            let place = Place::Below(place, at.to_string());
            let result = self.sub(wanted, item, &place, depth);
            if result.is_valid() {
                return;
            }
            if best.as_ref().is_none_or(|best| result.score > best.score) {
                best = Some(result);
            }
        }
        outcome.fail(place, "At least one of the items must match");
        outcome.merge(best.unwrap_or_default());
    }

    fn object(
        &self,
        schema: &Map<String, Json>,
        entries: &Map<String, Json>,
        place: &Place<'_>,
        outcome: &mut Outcome,
        depth: usize,
    ) {
        let depth = depth + 1;
        let count = entries.len() as u64;
        if let Some(min) = integer(schema, "minProperties").filter(|&min| count < min) {
            outcome.fail(place, format!("Must have at least {min} properties"));
        }
        if let Some(max) = integer(schema, "maxProperties").filter(|&max| count > max) {
            outcome.fail(place, format!("Must have at most {max} properties"));
        }
        for name in list(schema, "required").iter().filter_map(Json::as_str) {
            if entries.contains_key(name) {
                outcome.step();
            } else {
                outcome.fail(place, format!("{name} is required"));
            }
        }
        let described = schema.get("properties").and_then(Json::as_object);
        for (name, value) in entries {
            let is_described = described.is_some_and(|described| described.contains_key(name));
            let matched = self.pattern_properties(schema, name, value, place, outcome, depth);
            if is_described || matched {
                continue;
            }
            match schema.get("additionalProperties") {
                Some(Json::Bool(false)) => {
                    outcome.fail(place, format!("Additional property {name} is not allowed"));
                }
                Some(schema @ Json::Object(_)) => {
                    let place = Place::Below(place, name.clone());
                    outcome.merge(self.sub(schema, value, &place, depth));
                }
                _ => {}
            }
        }
        if let Some(names) = schema.get("propertyNames").filter(|_| self.draft >= 6) {
            for name in entries.keys() {
                let result = self.sub(names, &Json::String(name.clone()), place, depth);
                if !result.is_valid() {
                    let message = format!("Property name of \"{name}\" does not match");
                    outcome.fail(place, message);
                    outcome.merge(result);
                }
            }
        }
        outcome.step();
    }

    fn pattern_properties(
        &self,
        schema: &Map<String, Json>,
        name: &str,
        value: &Json,
        place: &Place<'_>,
        outcome: &mut Outcome,
        depth: usize,
    ) -> bool {
        let mut matched = false;
        for (pattern, below) in map(schema, "patternProperties") {
            if self.matches(pattern, name) {
                matched = true;
                let place = Place::Below(place, name.to_owned());
                outcome.merge(self.sub(below, value, &place, depth));
            }
        }
        if matched {
            outcome.step();
        }
        matched
    }

    /// `const` and `enum`.
    fn common(
        &self,
        schema: &Map<String, Json>,
        value: &Json,
        place: &Place<'_>,
        outcome: &mut Outcome,
    ) {
        if let Some(constant) = schema.get("const").filter(|_| self.draft >= 6)
            && !equal(constant, value)
        {
            let message = format!("{} does not match: {}", place.path(), compact(constant));
            outcome.fail(place, message);
        }
        allowed(schema, value, place, outcome);
    }

    fn string(
        &self,
        schema: &Map<String, Json>,
        text: &str,
        place: &Place<'_>,
        outcome: &mut Outcome,
    ) {
        let length = text.chars().count() as u64;
        if let Some(min) = integer(schema, "minLength").filter(|&min| length < min) {
            let message = format!("String length must be greater than or equal to {min}");
            outcome.fail(place, message);
        }
        if let Some(max) = integer(schema, "maxLength").filter(|&max| length > max) {
            let message = format!("String length must be less than or equal to {max}");
            outcome.fail(place, message);
        }
        if let Some(Json::String(pattern)) = schema.get("pattern")
            && !self.matches(pattern, text)
        {
            outcome.fail(place, format!("Does not match pattern '{pattern}'"));
        }
        if let Some(Json::String(format)) = schema.get("format")
            && !draft7_format::holds(format, text)
        {
            outcome.fail(place, format!("Does not match format '{format}'"));
        }
        outcome.step();
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let compiled = patterns
            .entry(pattern.to_owned())
            .or_insert_with(|| regex::Regex::new(pattern).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// A reference within the document.
    fn resolve(&self, reference: &str) -> Option<&Json> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let root_id = self.root.get("$id").or_else(|| self.root.get("id"));
        let is_root = document.is_empty() || root_id.and_then(Json::as_str) == Some(document);
        let base = if is_root {
            self.root
        } else {
            find_id(self.root, document, 0)?
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            return base.pointer(&percent_decode(fragment));
        }
        find_id(base, &format!("#{fragment}"), 0)
    }
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

/// The schema that declares itself under that id.
fn find_id<'s>(schema: &'s Json, id: &str, depth: usize) -> Option<&'s Json> {
    if depth > MAX_DEPTH {
        return None;
    }
    match schema {
        Json::Object(entries) => {
            let own = entries.get("$id").or_else(|| entries.get("id"));
            if own.and_then(Json::as_str) == Some(id) {
                return Some(schema);
            }
            entries
                .values()
                .find_map(|below| find_id(below, id, depth + 1))
        }
        Json::Array(items) => items.iter().find_map(|below| find_id(below, id, depth + 1)),
        _ => None,
    }
}

fn percent_decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `enum`.
fn allowed(schema: &Map<String, Json>, value: &Json, place: &Place<'_>, outcome: &mut Outcome) {
    let allowed = list(schema, "enum");
    if !allowed.is_empty() && !allowed.iter().any(|allowed| equal(allowed, value)) {
        let shown: Vec<String> = allowed.iter().map(compact).collect();
        let message = format!(
            "{} must be one of the following: {}",
            place.path(),
            shown.join(", ")
        );
        outcome.fail(place, message);
    }
    outcome.step();
}

fn number(schema: &Map<String, Json>, value: &Json, place: &Place<'_>, outcome: &mut Outcome) {
    let Some(x) = value.as_f64() else {
        return;
    };
    let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
    // Draft 4 has booleans that sharpen the other bound.
    let is_sharp = |name: &str| schema.get(name) == Some(&Json::Bool(true));
    let mut fail = |text: &str, bound: f64| {
        outcome.fail(
            place,
            format!("Must be {text} {}", outrigger_goyaml::format_general(bound)),
        );
    };
    if let Some(step) = bound("multipleOf").filter(|step| !is_multiple(x, *step)) {
        fail("a multiple of", step);
    }
    if let Some(max) = bound("maximum") {
        if is_sharp("exclusiveMaximum") {
            if x >= max {
                fail("less than", max);
            }
        } else if x > max {
            fail("less than or equal to", max);
        }
    }
    if let Some(max) = bound("exclusiveMaximum").filter(|&max| x >= max) {
        fail("less than", max);
    }
    if let Some(min) = bound("minimum") {
        if is_sharp("exclusiveMinimum") {
            if x <= min {
                fail("greater than", min);
            }
        } else if x < min {
            fail("greater than or equal to", min);
        }
    }
    if let Some(min) = bound("exclusiveMinimum").filter(|&min| x <= min) {
        fail("greater than", min);
    }
    if let Some(Json::String(format)) = schema.get("format")
        && draft7_format::is_known(format)
    {
        outcome.fail(place, format!("Does not match format '{format}'"));
    }
    outcome.step();
}

fn is_multiple(x: f64, step: f64) -> bool {
    let ratio = x / step;
    (ratio - ratio.round()).abs() < 1e-9
}

fn unique(items: &[Json], place: &Place<'_>, outcome: &mut Outcome) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let text = compact(item);
        if let Some(before) = seen.get(&text) {
            outcome.fail(place, format!("array items[{before},{at}] must be unique"));
        }
        seen.insert(text, at);
    }
}

fn types(schema: &Map<String, Json>) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(only)) => vec![only.as_str()],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of_type(value: &Json, wanted: &str) -> bool {
    let given = type_name(value);
    given == wanted || (given == "integer" && wanted == "number")
}

fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) => {
            if number.as_f64().is_some_and(|x| x.fract() == 0.0) {
                "integer"
            } else {
                "number"
            }
        }
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// JSON as Go writes it: `<`, `>` and `&` escaped.
fn compact(value: &Json) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

fn list<'s>(schema: &'s Map<String, Json>, key: &str) -> &'s [Json] {
    schema
        .get(key)
        .and_then(Json::as_array)
        .map_or(&[], Vec::as_slice)
}

fn map<'s>(
    schema: &'s Map<String, Json>,
    key: &str,
) -> impl Iterator<Item = (&'s String, &'s Json)> {
    schema
        .get(key)
        .and_then(Json::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

fn integer(schema: &Map<String, Json>, key: &str) -> Option<u64> {
    schema.get(key).and_then(Json::as_u64)
}
