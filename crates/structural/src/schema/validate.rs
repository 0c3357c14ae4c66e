//! Validates objects against a structural schema, with the errors of a real server.

use serde_json::{Map, Value};

use super::field_error::{FieldError, Reason};
use super::rules::{check_rules, has_rules};
use super::{Additional, SchemaRef, Type};
pub(super) use correlate::{Correlated, OldItems};
use problem::{Outcome, Problem};

mod correlate;
mod formats;
mod lists;
mod number;
mod problem;
mod resources;

pub use lists::check_list_uniqueness;
pub use resources::check_embedded_resources;

/// All that a schema can say about a custom resource, except about its metadata. With an old object, errors in
/// parts that did not change do not count.
pub fn check_custom_resource(
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<FieldError> {
    let mut errors = check_values(new, old, schema);
    errors.extend(check_embedded_resources(new, schema));
    let had_errors = old.is_some_and(|old| !check_list_uniqueness(old, schema).is_empty());
    if !had_errors {
        errors.extend(check_list_uniqueness(new, schema));
    }
    add_rules(errors, new, old, schema)
}

/// Rules run if the types are right.
fn add_rules(
    mut errors: Vec<FieldError>,
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<FieldError> {
    let is_blocking = |error: &FieldError| {
        matches!(
            error.reason,
            Reason::NotSupported
                | Reason::Required
                | Reason::TooLong
                | Reason::TooMany
                | Reason::TypeInvalid
        )
    };
    if !errors.iter().any(is_blocking) {
        errors.extend(check_rules(new, old, schema));
    } else if has_rules(schema) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                      errors to complete validation";
        errors.push(FieldError::invalid("", Value::Null, detail));
    }
    errors
}

/// The same for a write to the status endpoint.
pub fn check_status(new: &Value, old: Option<&Value>, schema: SchemaRef<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let (Some(new), Some(schema)) = (new.get("status"), schema.property("status")) {
        let old = old.and_then(|old| old.get("status"));
        errors.extend(check_values_at("status", new, old, schema));
    }
    let had_errors = old.is_some_and(|old| !check_list_uniqueness(old, schema).is_empty());
    if !had_errors {
        errors.extend(check_list_uniqueness(new, schema));
    }
    add_rules(errors, new, old, schema)
}

/// Checks types and value constraints. With an old object, errors in parts that did not change do not count.
pub fn check_values(new: &Value, old: Option<&Value>, schema: SchemaRef<'_>) -> Vec<FieldError> {
    check_values_at("", new, old, schema)
}

/// The same for a part of an object, such as `status`.
pub fn check_values_at(
    field: &str,
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<FieldError> {
    let old = old.map(|old| Correlated::new(new, old, schema));
    let outcome = Validator.correlated("", new, old.as_ref(), schema);
    let problems = outcome.problems.into_iter();
    problems.map(|problem| problem.into_error(field)).collect()
}

struct Validator;

impl Validator {
    /// Drops problems of a value that is as it was.
    fn correlated(
        &self,
        path: &str,
        value: &Value,
        old: Option<&Correlated<'_>>,
        schema: SchemaRef<'_>,
    ) -> Outcome {
        let mut outcome = self.value(path, value, old, schema);
        if !outcome.is_valid() && old.is_some_and(Correlated::is_equal) {
            outcome.problems.clear();
        }
        outcome
    }

    fn value(
        &self,
        path: &str,
        value: &Value,
        old: Option<&Correlated<'_>>,
        schema: SchemaRef<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(check_type(path, value, schema));
            outcome.merge(check_enum(path, value, schema));
            return outcome;
        }
        let format = formats::effective(schema);
        let mut add = |result: Outcome| {
            outcome.merge(result);
            outcome.matches += 1;
        };
        if schema.type_ != Type::Any || schema.int_or_string || !format.is_empty() {
            add(check_type(path, value, schema));
        }
        add(self.junctors(path, value, old, schema));
        match value {
            Value::String(text) => {
                add(check_string(path, text, schema));
                if formats::is_checked(format) {
                    add(formats::check(path, format, text));
                }
            }
            Value::Number(number) => add(number::check(path, number, format, schema)),
            Value::Array(items) => add(self.list(path, items, old, schema)),
            Value::Object(_) | Value::Bool(_) | Value::Null => {}
        }
        add(check_enum(path, value, schema));
        if let Value::Object(fields) = value {
            add(self.object(path, fields, old, schema));
        }
        outcome.matches += 1;
        outcome
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`.
    fn junctors(
        &self,
        path: &str,
        value: &Value,
        old: Option<&Correlated<'_>>,
        schema: SchemaRef<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(checks) = &schema.node().checks else {
            outcome.matches += 1;
            return outcome;
        };
        let of = |id: usize| self.value(path, value, old, schema.at(id));
        if !checks.any_of.is_empty() {
            outcome.merge(any_of(path, checks.any_of.iter().map(|id| of(*id))));
        }
        if !checks.one_of.is_empty() {
            outcome.merge(one_of(path, checks.one_of.iter().map(|id| of(*id))));
        }
        if !checks.all_of.is_empty() {
            let mut valid = 0;
            for id in &checks.all_of {
                let result = of(*id);
                valid += usize::from(result.is_valid());
                outcome.merge(result);
            }
            if valid != checks.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                outcome.add(Problem::general(format!(
                    "{path:?} must validate all the schemas (allOf){none}"
                )));
            }
        }
        if checks.not.is_some_and(|id| of(id).is_valid()) {
            outcome.add(Problem::general(format!(
                "{path:?} must not validate the schema (not)"
            )));
        }
        outcome.matches += 1;
        outcome
    }

    fn list(
        &self,
        path: &str,
        items: &[Value],
        old: Option<&Correlated<'_>>,
        schema: SchemaRef<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(item_schema) = schema.items() {
            let old_items = old.and_then(Correlated::items);
            for (i, item) in items.iter().enumerate() {
                let old = old.and_then(|old| old.item(old_items.as_ref(), i));
                let path = format!("{path}[{i}]");
                outcome.merge(self.correlated(&path, item, old.as_ref(), item_schema));
            }
        }
        outcome.matches += 1;
        let Some(checks) = &schema.node().checks else {
            return outcome;
        };
        let size = count(items.len());
        if let Some(min) = checks.min_items.filter(|min| size < *min) {
            let text = format!("should have at least {min} items");
            outcome.add(Problem::at(path, Reason::Invalid, size, text));
        }
        if let Some(max) = checks.max_items.filter(|max| size > *max) {
            outcome.add(Problem::too_many(
                path,
                size,
                max,
                format!("should have at most {max} items"),
            ));
        }
        let is_repeated = |i: usize| items[..i].contains(&items[i]);
        if checks.unique_items && (1..items.len()).any(is_repeated) {
            outcome.add(Problem::at(
                path,
                Reason::Invalid,
                "",
                "shouldn't contain duplicates",
            ));
        }
        outcome
    }

    fn object(
        &self,
        path: &str,
        fields: &Map<String, Value>,
        old: Option<&Correlated<'_>>,
        schema: SchemaRef<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let checks = schema.node().checks.as_deref();
        let size = count(fields.len());
        if let Some(min) = checks
            .and_then(|checks| checks.min_properties)
            .filter(|min| size < *min)
        {
            let text = format!("should have at least {min} properties");
            outcome.add(Problem::at(path, Reason::Invalid, size, text));
        }
        if let Some(max) = checks
            .and_then(|checks| checks.max_properties)
            .filter(|max| size > *max)
        {
            let text = format!("should have at most {max} properties");
            outcome.add(Problem::too_many(path, size, max, text));
        }
        for (name, value) in fields
            .iter()
            .filter(|(name, _)| schema.property(name).is_none())
        {
            if schema.node().additional == Additional::Forbidden {
                let text = format!("{path}.{name} in body is a forbidden property");
                outcome.add(Problem::exactly(path, Reason::Invalid, name.as_str(), text));
            } else if let Some(additional) = schema.additional() {
                let old = old.and_then(|old| old.field(name));
                let path = format!("{path}.{name}");
                outcome.merge(self.correlated(&path, value, old.as_ref(), additional));
            }
        }
        for (name, property) in schema.properties() {
            let Some(value) = fields.get(name) else {
                continue;
            };
            let is_type = path.is_empty() && matches!(name, "apiVersion" | "kind");
            let old = old.filter(|_| !is_type).and_then(|old| old.field(name));
            let path = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            };
            outcome.merge(self.correlated(&path, value, old.as_ref(), property));
        }
        for name in checks.into_iter().flat_map(|checks| &checks.required) {
            if !fields.contains_key(name) {
                outcome.add(Problem::required(&format!("{path}.{name}")));
            }
        }
        outcome
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// One valid branch is enough. If there is none, the branch that came farthest tells why.
fn any_of(path: &str, branches: impl Iterator<Item = Outcome>) -> Outcome {
    let mut best: Option<Outcome> = None;
    for branch in branches {
        if branch.is_valid() {
            return branch;
        }
        if best
            .as_ref()
            .is_none_or(|best| branch.matches > best.matches)
        {
            best = Some(branch);
        }
    }
    let mut outcome = Outcome::default();
    outcome.add(Problem::general(format!(
        "{path:?} must validate at least one schema (anyOf)"
    )));
    outcome.merge(best.unwrap_or_default());
    outcome
}

fn one_of(path: &str, branches: impl Iterator<Item = Outcome>) -> Outcome {
    let mut best: Option<Outcome> = None;
    let mut first_valid: Option<Outcome> = None;
    let mut valid = 0;
    for branch in branches {
        if branch.is_valid() {
            valid += 1;
            best = None;
            first_valid.get_or_insert(branch);
        } else if valid == 0
            && best
                .as_ref()
                .is_none_or(|best| branch.matches > best.matches)
        {
            best = Some(branch);
        }
    }
    if valid == 1 {
        return first_valid.unwrap_or_default();
    }
    let found = match valid {
        0 => "Found none valid".to_owned(),
        several => format!("Found {several} valid alternatives"),
    };
    let mut outcome = Outcome::default();
    let text = format!("{path:?} must validate one and only one schema (oneOf). {found}");
    outcome.add(Problem::general(text));
    outcome.merge(best.unwrap_or_default());
    outcome
}

pub(super) fn type_name(type_: Type) -> &'static str {
    match type_ {
        Type::Any | Type::Scalar => "",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
    }
}

fn check_type(path: &str, value: &Value, schema: SchemaRef<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let wanted = schema.type_;
    let is_either = schema.int_or_string && wanted == Type::Any;
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_right = match (wanted, value) {
        (_, Value::Null) if is_either => schema.nullable,
        (_, Value::Number(number)) if is_either => number::is_integer(number),
        (_, _) if is_either => value.is_string(),
        (Type::Any | Type::Scalar, _) | (Type::Number, Value::Number(_)) => true,
        (_, Value::Null) => schema.nullable,
        (Type::Integer, Value::Number(number)) => number::is_integer(number),
        _ => found == type_name(wanted),
    };
    let format = formats::effective(schema);
    let is_text = matches!(value, Value::String(_) | Value::Array(_));
    if is_right || (is_text && wanted == Type::String && !format.is_empty()) {
        outcome.matches += 1;
        return outcome;
    }
    // Where a format is declared, Go compares it with the format that the value has, if it has one.
    let (wanted, found) = match value {
        _ if is_either => ("integer,string", found),
        Value::String(_) | Value::Array(_) | Value::Null => (type_name(wanted), found),
        _ if format.is_empty() => (type_name(wanted), found),
        Value::Number(number) => (format, if number.is_i64() { "int64" } else { "float64" }),
        Value::Bool(_) | Value::Object(_) => (format, ""),
    };
    let text = format!("must be of type {wanted}: {found:?}");
    outcome.add(Problem::at(path, Reason::TypeInvalid, found, text));
    outcome
}

fn check_enum(path: &str, value: &Value, schema: SchemaRef<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(checks) = schema
        .node()
        .checks
        .as_ref()
        .filter(|checks| !checks.one_value_of.is_empty())
    else {
        return outcome;
    };
    let allowed = &checks.one_value_of;
    let is_same = |allowed: &Value| match (allowed, value) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (allowed, value) => allowed == value && !value.is_null(),
    };
    if !allowed.iter().any(is_same) {
        outcome.add(Problem::unsupported(path, value.clone(), allowed));
    }
    outcome
}

fn check_string(path: &str, text: &str, schema: SchemaRef<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(checks) = &schema.node().checks else {
        return outcome;
    };
    let length = count(text.chars().count());
    if let Some(max) = checks.max_length.filter(|max| length > *max) {
        outcome.add(Problem::too_long(path, max));
    } else if let Some(min) = checks.min_length.filter(|min| length < *min) {
        let detail = format!("should be at least {min} chars long");
        outcome.add(Problem::at(path, Reason::Invalid, text, detail));
    } else if let Some(pattern) = &checks.pattern
        && !pattern
            .regex
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    {
        let detail = format!("should match '{}'", pattern.text);
        outcome.add(Problem::at(path, Reason::Invalid, text, detail));
    }
    outcome
}
