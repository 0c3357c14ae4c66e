//! Table cells of custom resources, from the JSON paths of `additionalPrinterColumns`.

use outrigger_apimachinery::json_path::{self, JsonPath};
use serde_json::{Value, json};

use super::moment::{Now, human, parse, seconds_between};
use crate::kinds::{Custom, PrinterColumn};

pub(super) fn cells(custom: &Custom, object: &Value, now: Now) -> Vec<Value> {
    let name = object["metadata"]["name"].clone();
    let own = custom.columns.iter();
    let own = own.map(|column| cell(column, object, now).unwrap_or(Value::Null));
    std::iter::once(name).chain(own).collect()
}

fn cell(column: &PrinterColumn, object: &Value, now: Now) -> Option<Value> {
    let path = JsonPath::parse(&format!("{{{}}}", column.json_path)).ok()?;
    let value = path.first(object)?;
    match (column.type_.as_str(), value.as_ref()) {
        ("string", value) => Some(json_path::text(value).into()),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(whole) => Some(whole.into()),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a fraction is cut off, as the real server does"
            )]
            None => number.as_f64().map(|float| json!(float as i64)),
        },
        ("number", Value::Number(number)) => Some(whole_or_float(number.as_f64()?)),
        ("boolean", Value::Bool(_)) => Some(value.into_owned()),
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
