//! The keywords for strings and numbers, and `const` and `enum`.

use serde_json::Value as Json;

use super::types::{compact, equal};
use super::{SubSchema, ValidationResult, Validator, format};
use crate::schema::multiple_of::is_multiple;

impl Validator<'_> {
    /// `const` and `enum`.
    pub(super) fn common(
        &self,
        subschema: SubSchema<'_>,
        value: &Json,
        result: &mut ValidationResult,
    ) {
        if let Some(constant) = subschema.schema.get("const").filter(|_| self.draft >= 6)
            && !equal(constant, value)
        {
            let path = subschema.context.path();
            let message = format!("{path} does not match: {}", compact(constant));
            result.add_error(subschema.context, message);
        }
        let allowed = subschema.list("enum");
        if !allowed.is_empty() && !allowed.iter().any(|allowed| equal(allowed, value)) {
            let path = subschema.context.path();
            let shown: Vec<String> = allowed.iter().map(compact).collect();
            let message = format!("{path} must be one of the following: {}", shown.join(", "));
            result.add_error(subschema.context, message);
        }
        result.increment_score();
    }

    pub(super) fn string(
        &self,
        subschema: SubSchema<'_>,
        text: &str,
        result: &mut ValidationResult,
    ) {
        let length = text.chars().count() as u64;
        if let Some(min) = subschema.count("minLength").filter(|&min| length < min) {
            let message = format!("String length must be greater than or equal to {min}");
            result.add_error(subschema.context, message);
        }
        if let Some(max) = subschema.count("maxLength").filter(|&max| length > max) {
            let message = format!("String length must be less than or equal to {max}");
            result.add_error(subschema.context, message);
        }
        if let Some(Json::String(pattern)) = subschema.schema.get("pattern")
            && !self.matches(pattern, text)
        {
            result.add_error(
                subschema.context,
                format!("Does not match pattern '{pattern}'"),
            );
        }
        if let Some(Json::String(format)) = subschema.schema.get("format")
            && !format::is_valid(format, text)
        {
            result.add_error(
                subschema.context,
                format!("Does not match format '{format}'"),
            );
        }
        result.increment_score();
    }

    pub(super) fn matches(&self, pattern: &str, text: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let compiled = patterns
            .entry(pattern.to_owned())
            .or_insert_with(|| regex::Regex::new(pattern).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

pub(super) fn number(subschema: SubSchema<'_>, value: &Json, result: &mut ValidationResult) {
    let Json::Number(number) = value else {
        return;
    };
    let x = number.as_f64().unwrap_or_default();
    let schema = subschema.schema;
    let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
    // In draft 4 a boolean makes the bound exclusive.
    let is_exclusive = |name: &str| schema.get(name) == Some(&Json::Bool(true));
    let mut fail = |text: &str, bound: f64| {
        let bound = outrigger_gostd::strconv::format_float(bound, b'g', None);
        result.add_error(subschema.context, format!("Must be {text} {bound}"));
    };
    if let Some(Json::Number(step)) = schema.get("multipleOf")
        && !is_multiple(number, step)
    {
        fail("a multiple of", step.as_f64().unwrap_or_default());
    }
    if let Some(max) = bound("maximum") {
        if is_exclusive("exclusiveMaximum") {
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
        if is_exclusive("exclusiveMinimum") {
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
        && format::is_known(format)
    {
        result.add_error(
            subschema.context,
            format!("Does not match format '{format}'"),
        );
    }
    result.increment_score();
}
