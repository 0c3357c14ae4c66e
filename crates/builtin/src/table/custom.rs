//! Table cells of custom resources, from the JSON paths of `additionalPrinterColumns`.

use serde_json::{Value, json};

use super::json_path::JsonPath;
use super::moment::{Now, human, parse, seconds_between};
use crate::kinds::{Custom, PrinterColumn};

pub(super) fn cells(custom: &Custom, object: &Value, now: Now) -> Vec<Value> {
    let name = object["metadata"]["name"].clone();
    let own = custom.columns.iter();
    let own = own.map(|column| cell(column, object, now).unwrap_or(Value::Null));
    std::iter::once(name).chain(own).collect()
}

fn cell(column: &PrinterColumn, object: &Value, now: Now) -> Option<Value> {
    let path = JsonPath::parse(&column.json_path)?;
    let value = path.first(object)?;
    match (column.type_.as_str(), value) {
        ("string", value) => Some(text(value).into()),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(whole) => Some(whole.into()),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a fraction is cut off, as the real server does"
            )]
            None => number.as_f64().map(|float| json!(float as i64)),
        },
        ("number", Value::Number(number)) => Some(whole_or_float(number.as_f64()?)),
        ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("date", Value::String(time)) => Some(match parse(time) {
            Some(time) => human(seconds_between(time, now.0)).into(),
            None => "<invalid>".into(),
        }),
        _ => None,
    }
}

/// A number as JSON writes it: without a fraction if it is whole.
fn whole_or_float(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        return json!(number as i64);
    }
    json!(number)
}

/// Formats a value: scalars plain, others as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        Value::Number(number) if number.is_f64() => float(number.as_f64().unwrap_or_default()),
        Value::Array(_) | Value::Object(_) => outrigger_gostd::json::marshal(value),
        other => other.to_string(),
    }
}

/// A float as `%v` formats it.
fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let exponent = scientific.split_once('e');
    let Some((digits, exponent)) = exponent else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
