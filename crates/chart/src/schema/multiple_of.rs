//! `multipleOf` as both Helm versions compute it: with decimals, where 0.3 is a multiple of 0.1. boon divides floats.
//!
//! Where a float division gives another result for a number of the values, the keyword is replaced by an equivalent
//! `not` with the numbers that are no multiples. Its errors are converted back.

use std::borrow::Cow;

use boon::{ErrorKind, InstanceToken, ValidationError};
use serde_json::{Map, Number, Value as Json, json};

use super::draft7::resolve;

const KEYWORD: &str = "multipleOf";

/// Whether a number is a multiple of another one, both as written in decimal.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    let (number, step) = (Decimal::of(number), Decimal::of(step));
    if number.digits == 0 {
        return true;
    }
    if step.digits == 0 {
        return false;
    }
    let shift = number.exponent - step.exponent;
    if shift >= 0 {
        let step = u128::from(step.digits);
        let mut rest = u128::from(number.digits) % step;
        for _ in 0..shift {
            rest = rest * 10 % step;
        }
        return rest == 0;
    }
    // A step that does not fit is greater than the number.
    let power = 10_u128.checked_pow(shift.unsigned_abs());
    let step = power.and_then(|power| power.checked_mul(step.digits.into()));
    step.is_some_and(|step| u128::from(number.digits).is_multiple_of(step))
}

/// `digits * 10^exponent`, without the sign.
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that is this number, which is how Go encodes a float.
    fn of(number: &Number) -> Self {
        let text = number.to_string();
        let text = text.trim_start_matches('-');
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let decimals = decimals.trim_end_matches('0');
        let parse = |text: &str| text.parse().expect("a number has at most 20 digits");
        let exponent: i32 = exponent.parse().expect("an exponent has three digits");
        // A whole number beyond 64 bits is a float, and written with an exponent.
        Self {
            digits: parse(&format!("{whole}{decimals}")),
            exponent: exponent - i32::try_from(decimals.len()).unwrap_or(i32::MAX),
        }
    }
}

/// The schema without the steps that boon computes differently for a number of the instance.
pub(super) fn replace<'s>(schema: &'s Json, instance: &Json) -> Cow<'s, Json> {
    if !has_keyword(schema) {
        return Cow::Borrowed(schema);
    }
    let mut numbers = Vec::new();
    collect_numbers(instance, &mut numbers);
    let mut schema = schema.clone();
    replace_in_schema(&mut schema, &numbers);
    Cow::Owned(schema)
}

fn has_keyword(value: &Json) -> bool {
    match value {
        Json::Object(entries) => entries.contains_key(KEYWORD) || entries.values().any(has_keyword),
        Json::Array(items) => items.iter().any(has_keyword),
        _ => false,
    }
}

fn collect_numbers<'v>(value: &'v Json, numbers: &mut Vec<&'v Number>) {
    match value {
        Json::Number(number) => numbers.push(number),
        Json::Array(items) => items.iter().for_each(|item| collect_numbers(item, numbers)),
        Json::Object(entries) => entries
            .values()
            .for_each(|value| collect_numbers(value, numbers)),
        _ => {}
    }
}

fn replace_in_schema(schema: &mut Json, numbers: &[&Number]) {
    match schema {
        Json::Array(schemas) => schemas
            .iter_mut()
            .for_each(|schema| replace_in_schema(schema, numbers)),
        Json::Object(keywords) => {
            for (keyword, argument) in &mut *keywords {
                match (keyword.as_str(), argument) {
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions"
                        | "dependentSchemas" | "dependencies",
                        Json::Object(schemas),
                    ) => schemas
                        .values_mut()
                        .for_each(|schema| replace_in_schema(schema, numbers)),
                    // A reference may refer to a schema in an unknown keyword.
                    (_, argument) => replace_in_schema(argument, numbers),
                }
            }
            replace_keyword(keywords, numbers);
        }
        _ => {}
    }
}

fn replace_keyword(keywords: &mut Map<String, Json>, numbers: &[&Number]) {
    let Some(Json::Number(step)) = keywords.get(KEYWORD) else {
        return;
    };
    let is_positive = step.as_f64().is_some_and(|step| step > 0.0);
    let is_exact = |number: &&Number| is_multiple(number, step) == is_float_multiple(number, step);
    if !is_positive || numbers.iter().all(is_exact) {
        return;
    }
    let mut others: Vec<Json> = Vec::new();
    for number in numbers.iter().filter(|number| !is_multiple(number, step)) {
        let other = Json::Number((*number).clone());
        if !others.contains(&other) {
            others.push(other);
        }
    }
    keywords.remove(KEYWORD);
    if others.is_empty() {
        return;
    }
    let others = json!({"enum": others});
    let not = match keywords.remove("not") {
        Some(not) => json!({"anyOf": [not, others]}),
        None => others,
    };
    keywords.insert("not".to_owned(), not);
}

/// What boon computes.
fn is_float_multiple(number: &Number, step: &Number) -> bool {
    match (number.as_f64(), step.as_f64()) {
        (Some(number), Some(step)) => (number / step).fract() == 0.0,
        _ => true,
    }
}

/// Converts the errors of replaced keywords back. A number that also violates the schema's own `not` has one error.
pub(super) fn restore<'s, 'v>(
    error: &mut ValidationError<'s, 'v>,
    schema: &'s Json,
    replaced: &Json,
    instance: &'v Json,
) {
    for cause in &mut error.causes {
        restore(cause, schema, replaced, instance);
    }
    if !matches!(error.kind, ErrorKind::Not) {
        return;
    }
    let step = step_at(schema, error.schema_url);
    let is_replaced = step_at(replaced, error.schema_url).is_none();
    let number = at(instance, &error.instance_location.tokens);
    if let (Some(Json::Number(want)), Some(Json::Number(got))) = (step, number)
        && is_replaced
        && !is_multiple(got, want)
    {
        let got = Cow::Borrowed(got);
        error.kind = ErrorKind::MultipleOf { got, want };
    }
}

/// The step in the schema with this URL.
fn step_at<'s>(root: &'s Json, url: &str) -> Option<&'s Json> {
    resolve(root, &url[url.find('#')?..])?.get(KEYWORD)
}

fn at<'v>(instance: &'v Json, location: &[InstanceToken<'_>]) -> Option<&'v Json> {
    location
        .iter()
        .try_fold(instance, |value, token| match token {
            InstanceToken::Prop(name) => value.get(name.as_ref()),
            InstanceToken::Item(index) => value.get(index),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: &Json, step: &Json, expected: bool) {
        let (Json::Number(number), Json::Number(step)) = (number, step) else {
            panic!("{number} and {step} must be numbers");
        };
        assert_eq!(is_multiple(number, step), expected, "{number} of {step}");
    }

    #[test]
    fn multiples_are_computed_in_decimal() {
        check(&json!(0.3), &json!(0.1), true);
        check(&json!(-0.3), &json!(0.1), true);
        check(&json!(0.35), &json!(0.1), false);
        check(&json!(19.99), &json!(0.01), true);
        check(&json!(0), &json!(0.7), true);
        check(&json!(7), &json!(0.7), true);
        check(&json!(7), &json!(3), false);
        check(&json!(1e300), &json!(0.3), false);
        check(&json!(3e300), &json!(0.3), true);
        check(&json!(1e-300), &json!(1e300), false);
        check(&json!(1e300), &json!(1e-300), true);
        check(&json!(u64::MAX), &json!(5), true);
        check(&json!(u64::MAX), &json!(2), false);
        check(&json!(i64::MIN), &json!(2), true);
    }
}
