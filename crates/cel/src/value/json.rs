//! Converts JSON data to values.

use std::sync::Arc;

use outrigger_gostd::base64;
use outrigger_gostd::strconv::quote;
use outrigger_gostd::time::{Duration, Location, RFC3339_NANO, Time};
use serde_json::{Number, Value as Json};

use super::{List, Map, Value};
use crate::error::Error;
use crate::schema::{Format, Kind, Schema};

/// Data without a schema.
pub(super) fn untyped(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => number_value(number),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::List(List::Json(items)),
        Json::Object(fields) => Value::Map(Map::Json(fields)),
    }
}

fn number_value(number: &Number) -> Value<'static> {
    match number.as_i64() {
        Some(integer) => Value::Int(integer),
        None => Value::Double(number.as_f64().unwrap_or_default()),
    }
}

/// Data with a schema. What does not conform to it is an error when it is read.
pub(super) fn typed<'v>(json: &'v Json, schema: &'v Schema) -> Result<Value<'v>, Error> {
    if json.is_null() {
        return if schema.nullable {
            Ok(Value::Null)
        } else {
            Err(invalid(
                "invalid data, got null for schema with nullable=false",
            ))
        };
    }
    match (&schema.kind, json) {
        (Kind::IntOrString, Json::String(text)) => Ok(text.as_str().into()),
        (Kind::IntOrString | Kind::Integer, Json::Number(number)) if number.is_i64() => {
            Ok(number_value(number))
        }
        (Kind::IntOrString, _) => Err(invalid(
            "invalid data, expected XIntOrString value to be either a string or integer",
        )),
        (Kind::Object(_) | Kind::Map(_) | Kind::EmptyObject, Json::Object(fields)) => {
            Ok(Value::Map(Map::Typed(fields, schema)))
        }
        (Kind::Object(_) | Kind::Map(_) | Kind::EmptyObject, _) => Err(invalid(
            "invalid data, expected a map for the provided schema with type=object",
        )),
        (Kind::Array(..), Json::Array(items)) => Ok(Value::List(List::Typed(items, schema))),
        (Kind::Array(..), _) => Err(invalid(
            "invalid data, expected an array for the provided schema with type=array",
        )),
        (Kind::String(format), Json::String(text)) => string(text, *format),
        (Kind::String(_), other) => Err(unexpected("string", other)),
        (Kind::Number, Json::Number(number)) => {
            Ok(Value::Double(number.as_f64().unwrap_or_default()))
        }
        (Kind::Number, other) => Err(unexpected("float", other)),
        (Kind::Integer, other) => Err(unexpected("int", other)),
        (Kind::Boolean, Json::Bool(flag)) => Ok(Value::Bool(*flag)),
        (Kind::Boolean, other) => Err(unexpected("bool", other)),
        (Kind::Preserved, other) => Ok(Value::Preserved(other)),
        (Kind::Untyped, _) => Err(invalid(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
        )),
    }
}

fn invalid(message: &'static str) -> Error {
    Error::function(message)
}

fn unexpected(expected: &str, json: &Json) -> Error {
    let got = match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    Error::function(format!("invalid data, expected {expected}, got {got}"))
}

fn string(text: &str, format: Format) -> Result<Value<'_>, Error> {
    match format {
        Format::Plain => Ok(text.into()),
        Format::Byte => match base64::decode(text.as_bytes()) {
            Ok(bytes) => Ok(Value::Bytes(bytes.into())),
            Err(error) => Err(Error::function(format!(
                "Invalid byte formatted string {text}: {error}"
            ))),
        },
        Format::Duration => match Duration::parse(text.as_bytes()) {
            Ok(duration) => Ok(Value::Duration(duration.0)),
            Err(error) => duration_in_words(text)
                .map(Value::Duration)
                .ok_or_else(|| Error::function(format!("Invalid duration {text}: {error}"))),
        },
        Format::Date | Format::DateTime => time(text, format),
    }
}

fn time(text: &str, format: Format) -> Result<Value<'_>, Error> {
    let (layouts, kind): (&[&[u8]], _) = match format {
        Format::Date => (&[b"2006-01-02"], "date"),
        _ => (
            &[
                RFC3339_NANO,
                b"2006-01-02T15:04:05.000000000Z",
                b"2006-01-02T15:04:05.000000Z",
                b"2006-01-02T15:04:05.000Z",
                b"2006-01-02T15:04:05.999999999",
            ],
            "date-time",
        ),
    };
    let parse = |layout: &&[u8]| Time::parse(layout, text.as_bytes(), &Location::Utc).ok();
    match layouts.iter().find_map(parse) {
        Some(time) => Ok(Value::Timestamp(Arc::new(time))),
        None => Err(Error::function(format!(
            "Invalid {kind} formatted string {text}: cannot parse {}",
            quote(text)
        ))),
    }
}

/// The durations of OpenAPI, such as `1 day` and `3weeks`.
fn duration_in_words(text: &str) -> Option<i64> {
    const SECOND: i64 = 1_000_000_000;
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: i64 = number.parse().ok()?;
    let unit = unit.trim();
    let singular = match unit.len() {
        0..=2 => unit,
        _ => unit.strip_suffix('s').unwrap_or(unit),
    };
    let nanos = match singular {
        "ns" | "nano" | "nanosecond" => 1,
        "us" | "µs" | "micro" | "microsecond" => 1000,
        "ms" | "milli" | "millisecond" => 1_000_000,
        "s" | "sec" | "second" => SECOND,
        "m" | "min" | "minute" => SECOND.checked_mul(60)?,
        "h" | "hr" | "hour" => SECOND.checked_mul(3600)?,
        "d" | "day" => SECOND.checked_mul(86_400)?,
        "w" | "wk" | "week" => SECOND.checked_mul(604_800)?,
        _ => return None,
    };
    number.checked_mul(nanos)
}
