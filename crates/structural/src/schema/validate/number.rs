//! Limits of numbers.

use serde_json::{Number, Value};

use super::problem::{Outcome, Problem};
use crate::schema::field_error::Reason;
use crate::schema::{SchemaRef, Type, go_value, value};

pub(super) fn check(path: &str, number: &Number, format: &str, schema: SchemaRef<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let type_ = match schema.type_ {
        Type::Integer => "integer",
        Type::Number => "number",
        _ => "",
    };
    let float = number.as_f64().unwrap_or_default();
    if !is_in_range(float, !number.is_i64(), type_, format) {
        outcome.add(Problem::general(out_of_range(
            "Checked", type_, format, path,
        )));
    }
    if let Some(checks) = &schema.node().checks {
        let limits = Limits {
            path,
            number,
            type_,
            format,
        };
        if let Some(factor) = checks.multiple_of {
            limits.multiple_of(&mut outcome, factor);
        }
        if let Some(min) = checks.minimum {
            limits.minimum(&mut outcome, min, checks.exclusive_minimum);
        }
        if let Some(max) = checks.maximum {
            limits.maximum(&mut outcome, max, checks.exclusive_maximum);
        }
    }
    outcome.matches += 1;
    outcome
}

/// Whether a number fits its format.
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
    /// Integers are compared as integers: limits lose their fraction.
    fn limit(&self, outcome: &mut Outcome, what: &str, limit: f64) -> (Value, bool) {
        let fits = is_in_range(limit, true, self.type_, self.format);
        if !fits {
            outcome.add(Problem::general(out_of_range(
                what,
                self.type_,
                self.format,
                self.path,
            )));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "limits of integers lose their fraction"
        )]
        match self.number.as_i64() {
            Some(_) if fits => ((limit as i64).into(), true),
            _ => (limit.into(), false),
        }
    }

    fn order(&self, limit: &Value) -> std::cmp::Ordering {
        value::compare(&Value::Number(self.number.clone()), limit)
    }

    fn add(&self, outcome: &mut Outcome, text: &str, limit: &Value) {
        let value = Value::Number(self.number.clone());
        let text = format!("{text} {}", go_value(limit));
        outcome.add(Problem::at(self.path, Reason::Invalid, value, text));
    }

    fn maximum(&self, outcome: &mut Outcome, max: f64, is_exclusive: bool) {
        let (max, _) = self.limit(outcome, "Maximum boundary", max);
        let order = self.order(&max);
        if is_exclusive && order.is_ge() {
            self.add(outcome, "should be less than", &max);
        } else if order.is_gt() {
            self.add(outcome, "should be less than or equal to", &max);
        }
    }

    fn minimum(&self, outcome: &mut Outcome, min: f64, is_exclusive: bool) {
        let (min, _) = self.limit(outcome, "Minimum boundary", min);
        let order = self.order(&min);
        if is_exclusive && order.is_le() {
            self.add(outcome, "should be greater than", &min);
        } else if order.is_lt() {
            self.add(outcome, "should be greater than or equal to", &min);
        }
    }

    fn multiple_of(&self, outcome: &mut Outcome, factor: f64) {
        let (limit, is_integer) = self.limit(outcome, "MultipleOf", factor);
        let is_multiple = match (limit.as_i64().filter(|_| is_integer), self.number.as_i64()) {
            (Some(factor), Some(number)) if factor > 0 => number % factor == 0,
            (Some(_), Some(_)) => return self.not_positive(outcome, &limit),
            _ if factor <= 0.0 => return self.not_positive(outcome, &limit),
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
            self.add(outcome, "should be a multiple of", &limit);
        }
    }

    fn not_positive(&self, outcome: &mut Outcome, factor: &Value) {
        let text = format!(
            "factor MultipleOf declared for {} must be positive: {}",
            self.path,
            go_value(factor)
        );
        outcome.add(Problem::exactly(
            self.path,
            Reason::Invalid,
            factor.clone(),
            text,
        ));
    }
}

/// Whether a number is an integer, also if it is written as a float.
pub(super) fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.as_f64().is_some_and(is_whole)
}

/// Whether a float is an integer up to rounding, and small enough to tell.
fn is_whole(number: f64) -> bool {
    let error = (number - number.round()).abs();
    number.abs() <= 9_007_199_254_740_991.0 && error <= f64::EPSILON * number.abs().max(1.0)
}
