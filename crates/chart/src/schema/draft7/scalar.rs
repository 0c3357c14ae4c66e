//! The keywords for texts and numbers, and those for every value.

use serde_json::Value as Json;

use super::kinds::{compact, equal};
use super::{Outcome, Spot, Validator, format};

impl Validator<'_> {
    /// `const` and `enum`.
    pub(super) fn common(&self, spot: Spot<'_>, value: &Json, outcome: &mut Outcome) {
        if let Some(constant) = spot.schema.get("const").filter(|_| self.draft >= 6)
            && !equal(constant, value)
        {
            let path = spot.place.path();
            let message = format!("{path} does not match: {}", compact(constant));
            outcome.fail(spot.place, message);
        }
        let allowed = spot.list("enum");
        if !allowed.is_empty() && !allowed.iter().any(|allowed| equal(allowed, value)) {
            let path = spot.place.path();
            let shown: Vec<String> = allowed.iter().map(compact).collect();
            let message = format!("{path} must be one of the following: {}", shown.join(", "));
            outcome.fail(spot.place, message);
        }
        outcome.step();
    }

    pub(super) fn string(&self, spot: Spot<'_>, text: &str, outcome: &mut Outcome) {
        let length = text.chars().count() as u64;
        if let Some(min) = spot.count("minLength").filter(|&min| length < min) {
            let message = format!("String length must be greater than or equal to {min}");
            outcome.fail(spot.place, message);
        }
        if let Some(max) = spot.count("maxLength").filter(|&max| length > max) {
            let message = format!("String length must be less than or equal to {max}");
            outcome.fail(spot.place, message);
        }
        if let Some(Json::String(pattern)) = spot.schema.get("pattern")
            && !self.matches(pattern, text)
        {
            outcome.fail(spot.place, format!("Does not match pattern '{pattern}'"));
        }
        if let Some(Json::String(format)) = spot.schema.get("format")
            && !format::holds(format, text)
        {
            outcome.fail(spot.place, format!("Does not match format '{format}'"));
        }
        outcome.step();
    }

    pub(super) fn matches(&self, pattern: &str, text: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let compiled = patterns
            .entry(pattern.to_owned())
            .or_insert_with(|| regex::Regex::new(pattern).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

pub(super) fn number(spot: Spot<'_>, value: &Json, outcome: &mut Outcome) {
    let Some(x) = value.as_f64() else {
        return;
    };
    let schema = spot.schema;
    let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
    // Draft 4 has booleans that sharpen the other bound.
    let is_sharp = |name: &str| schema.get(name) == Some(&Json::Bool(true));
    let mut fail = |text: &str, bound: f64| {
        let bound = outrigger_gostd::strconv::format_float(bound, b'g', None);
        outcome.fail(spot.place, format!("Must be {text} {bound}"));
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
        && format::is_known(format)
    {
        outcome.fail(spot.place, format!("Does not match format '{format}'"));
    }
    outcome.step();
}

fn is_multiple(x: f64, step: f64) -> bool {
    let ratio = x / step;
    (ratio - ratio.round()).abs() < 1e-9
}
