//! Ranges of numbers.

use outrigger_apimachinery::status::field::ErrorType;
use outrigger_gostd::fmt::sprint_json;
use serde_json::{Number, Value};

use super::result::{ValidationError, ValidationResult};
use crate::schema::{SchemaRef, Type, value};

pub(super) fn validate(
    path: &str,
    number: &Number,
    format: &str,
    schema: SchemaRef<'_>,
) -> ValidationResult {
    let mut result = ValidationResult::default();
    let type_ = match schema.type_ {
        Type::Integer => "integer",
        Type::Number => "number",
        _ => "",
    };
    let float = number.as_f64().unwrap_or_default();
    if !is_in_range(float, !number.is_i64(), type_, format) {
        result.add(ValidationError::general(out_of_range(
            "Checked", type_, format, path,
        )));
    }
    if let Some(validation) = &schema.node().value_validation {
        let limits = Limits {
            path,
            number,
            type_,
            format,
        };
        if let Some(factor) = validation.multiple_of {
            limits.multiple_of(&mut result, factor);
        }
        if let Some(min) = validation.minimum {
            limits.minimum(&mut result, min, validation.exclusive_minimum);
        }
        if let Some(max) = validation.maximum {
            limits.maximum(&mut result, max, validation.exclusive_maximum);
        }
    }
    result.matches += 1;
    result
}

/// Whether a number is in the range of its format.
fn is_in_range(number: f64, is_float: bool, type_: &str, format: &str) -> bool {
    match (type_, format) {
        ("integer", "int32") => {
            number.fract() == 0.0 && number >= f64::from(i32::MIN) && number <= f64::from(i32::MAX)
        }
        ("integer", _) => {
            !is_float
                || (number.fract() == 0.0
                    && (-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&number))
        }
        (_, "float") => number.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

fn out_of_range(what: &str, type_: &str, format: &str, path: &str) -> String {
    if format.is_empty() {
        format!("{what} value must be of type {type_} (default format) in {path}")
    } else {
        format!("{what} value must be of type {type_} with format {format} in {path}")
    }
}

struct Limits<'a> {
    path: &'a str,
    number: &'a Number,
    type_: &'a str,
    format: &'a str,
}

impl Limits<'_> {
    /// The limit for integers is truncated to an integer.
    fn limit(&self, result: &mut ValidationResult, what: &str, limit: f64) -> (Value, bool) {
        let fits = is_in_range(limit, true, self.type_, self.format);
        if !fits {
            result.add(ValidationError::general(out_of_range(
                what,
                self.type_,
                self.format,
                self.path,
            )));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "limits of integers are truncated"
        )]
        match self.number.as_i64() {
            Some(_) if fits => ((limit as i64).into(), true),
            _ => (limit.into(), false),
        }
    }

    fn order(&self, limit: &Value) -> std::cmp::Ordering {
        value::compare(&Value::Number(self.number.clone()), limit)
    }

    fn add(&self, result: &mut ValidationResult, text: &str, limit: &Value) {
        let value = Value::Number(self.number.clone());
        let text = format!("{text} {}", sprint_json(limit));
        result.add(ValidationError::at(
            self.path,
            ErrorType::Invalid,
            value,
            text,
        ));
    }

    fn maximum(&self, result: &mut ValidationResult, max: f64, is_exclusive: bool) {
        let (max, _) = self.limit(result, "Maximum boundary", max);
        let order = self.order(&max);
        if is_exclusive && order.is_ge() {
            self.add(result, "should be less than", &max);
        } else if order.is_gt() {
            self.add(result, "should be less than or equal to", &max);
        }
    }

    fn minimum(&self, result: &mut ValidationResult, min: f64, is_exclusive: bool) {
        let (min, _) = self.limit(result, "Minimum boundary", min);
        let order = self.order(&min);
        if is_exclusive && order.is_le() {
            self.add(result, "should be greater than", &min);
        } else if order.is_lt() {
            self.add(result, "should be greater than or equal to", &min);
        }
    }

    fn multiple_of(&self, result: &mut ValidationResult, factor: f64) {
        let (limit, is_integer) = self.limit(result, "MultipleOf", factor);
        let is_multiple = match (limit.as_i64().filter(|_| is_integer), self.number.as_i64()) {
            (Some(factor), Some(number)) if factor > 0 => number % factor == 0,
            (Some(_), Some(_)) => return self.not_positive(result, &limit),
            _ if factor <= 0.0 => return self.not_positive(result, &limit),
            _ => {
                let number = self.number.as_f64().unwrap_or_default();
                let quotient = if factor < 1.0 {
                    1.0 / factor * number
                } else {
                    number / factor
                };
                is_whole(quotient)
            }
        };
        if !is_multiple {
            self.add(result, "should be a multiple of", &limit);
        }
    }

    fn not_positive(&self, result: &mut ValidationResult, factor: &Value) {
        let text = format!(
            "factor MultipleOf declared for {} must be positive: {}",
            self.path,
            sprint_json(factor)
        );
        result.add(ValidationError::with_message(
            self.path,
            ErrorType::Invalid,
            factor.clone(),
            text,
        ));
    }
}

/// Whether a number has an integer value, possibly written as a float.
pub(super) fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.as_f64().is_some_and(is_whole)
}

/// Whether a float is an integer up to rounding, and in the range of exact integers.
fn is_whole(number: f64) -> bool {
    let error = (number - number.round()).abs();
    number.abs() <= 9_007_199_254_740_991.0 && error <= f64::EPSILON * number.abs().max(1.0)
}
