//! Conversions between types.

use std::sync::Arc;

use outrigger_gostd::strconv::{parse_float, parse_int, parse_uint};
use outrigger_gostd::time::{Duration, Location, RFC3339_NANO, Time};

use super::Function;
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{Value, display};

type Result<T> = std::result::Result<T, Error>;

const MIN_SECONDS: i64 = -62_135_596_800;
const MAX_SECONDS: i64 = 253_402_300_799;
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let a = Type::Param("A");
    vec![
        Function::new("type")
            .declared("type", [a.clone()], Type::type_of(a.clone()))
            .singleton(type_of),
        Function::new("dyn")
            .declared("to_dyn", [a], Type::Dyn)
            .singleton(identity),
        Function::new("bool")
            .global("bool_to_bool", [Bool], Bool, identity)
            .global("string_to_bool", [String], Bool, to_bool),
        Function::new("bytes")
            .global("bytes_to_bytes", [Bytes], Bytes, identity)
            .global("string_to_bytes", [String], Bytes, to_bytes),
        Function::new("double")
            .global("double_to_double", [Double], Double, identity)
            .global("int64_to_double", [Int], Double, to_double)
            .global("string_to_double", [String], Double, to_double)
            .global("uint64_to_double", [Uint], Double, to_double),
        Function::new("duration")
            .global("duration_to_duration", [Duration], Duration, identity)
            .global("int64_to_duration", [Int], Duration, to_duration)
            .global("string_to_duration", [String], Duration, to_duration),
        Function::new("int")
            .global("int64_to_int64", [Int], Int, identity)
            .global("double_to_int64", [Double], Int, to_int)
            .global("duration_to_int64", [Duration], Int, to_int)
            .global("string_to_int64", [String], Int, to_int)
            .global("timestamp_to_int64", [Timestamp], Int, to_int)
            .global("uint64_to_int64", [Uint], Int, to_int),
        Function::new("string")
            .global("string_to_string", [String], String, identity)
            .global("bool_to_string", [Bool], String, to_string)
            .global("bytes_to_string", [Bytes], String, to_string)
            .global("double_to_string", [Double], String, to_string)
            .global("duration_to_string", [Duration], String, to_string)
            .global("int64_to_string", [Int], String, to_string)
            .global("timestamp_to_string", [Timestamp], String, to_string)
            .global("uint64_to_string", [Uint], String, to_string),
        Function::new("timestamp")
            .global("timestamp_to_timestamp", [Timestamp], Timestamp, identity)
            .global("int64_to_timestamp", [Int], Timestamp, to_timestamp)
            .global("string_to_timestamp", [String], Timestamp, to_timestamp),
        Function::new("uint")
            .global("uint64_to_uint64", [Uint], Uint, identity)
            .global("double_to_uint64", [Double], Uint, to_uint)
            .global("int64_to_uint64", [Int], Uint, to_uint)
            .global("string_to_uint64", [String], Uint, to_uint),
    ]
}

/// Whether a function only converts its argument, so that it is evaluated once if the argument is a literal.
pub(crate) fn is_conversion(function: &str) -> bool {
    matches!(
        function,
        "bool"
            | "bytes"
            | "double"
            | "duration"
            | "dyn"
            | "int"
            | "string"
            | "timestamp"
            | "type"
            | "uint"
    )
}

fn only<'a, 'v>(args: &'a [Value<'v>]) -> Result<&'a Value<'v>> {
    args.first().ok_or(Error::NoSuchOverload)
}

fn failed<T>(from: &Value<'_>, to: &'static str) -> Result<T> {
    let from = from.type_name();
    Err(Error::Conversion { from, to })
}

fn type_of<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match only(args)? {
        Value::Preserved(_) => Err(Error::function(
            "type conversion to 'type' not supported for values preserved by x-kubernetes-preserve-unknown-fields",
        )),
        value => Ok(Value::Type(value.type_())),
    }
}

fn identity<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    only(args).cloned()
}

fn to_bool<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match only(args)? {
        value @ Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => failed(value, "bool"),
        },
        value => failed(value, "bool"),
    }
}

fn to_bytes<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match only(args)? {
        Value::String(text) => {
            meter.copy(text.as_str().len())?;
            Ok(Value::Bytes(text.as_str().as_bytes().into()))
        }
        value => failed(value, "bytes"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "as Go rounds integers")]
fn to_double<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match only(args)? {
        Value::Int(number) => Ok(Value::Double(*number as f64)),
        Value::Uint(number) => Ok(Value::Double(*number as f64)),
        value @ Value::String(text) => match parse_float(text.as_str().as_bytes()) {
            Some(number) => Ok(Value::Double(number)),
            None => failed(value, "double"),
        },
        value => failed(value, "double"),
    }
}

fn to_duration<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match only(args)? {
        value @ Value::String(text) => match Duration::parse(text.as_str().as_bytes()) {
            Ok(duration) => Ok(Value::Duration(duration.0)),
            Err(_) => failed(value, "google.protobuf.Duration"),
        },
        value => failed(value, "google.protobuf.Duration"),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is in the range of integers"
)]
pub(crate) fn double_to_int(number: f64) -> Result<i64> {
    if number > -TWO_TO_63 && number < TWO_TO_63 {
        Ok(number as i64)
    } else {
        Err(Error::IntOverflow)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is in the range of unsigned integers"
)]
fn double_to_uint(number: f64) -> Result<u64> {
    if (0.0..TWO_TO_64).contains(&number) {
        Ok(number as u64)
    } else {
        Err(Error::UintOverflow)
    }
}

/// The integer that equals a double.
#[expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "checks whether any precision is lost"
)]
pub(crate) fn lossless_int(number: f64) -> Option<i64> {
    let integer = double_to_int(number).ok()?;
    (integer as f64 == number).then_some(integer)
}

/// The unsigned integer that equals a double.
#[expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "checks whether any precision is lost"
)]
pub(crate) fn lossless_uint(number: f64) -> Option<u64> {
    let integer = double_to_uint(number).ok()?;
    (integer as f64 == number).then_some(integer)
}

fn to_int<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let number = match only(args)? {
        Value::Double(number) => double_to_int(*number)?,
        Value::Duration(nanos) => *nanos,
        Value::Timestamp(time) => time.seconds,
        Value::Uint(number) => i64::try_from(*number).map_err(|_| Error::IntOverflow)?,
        value @ Value::String(text) => match parse_int(text.as_str().as_bytes(), 10) {
            Ok(number) => number,
            Err(_) => return failed(value, "int"),
        },
        value => return failed(value, "int"),
    };
    Ok(Value::Int(number))
}

fn to_uint<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let number = match only(args)? {
        Value::Double(number) => double_to_uint(*number)?,
        Value::Int(number) => u64::try_from(*number).map_err(|_| Error::UintOverflow)?,
        value @ Value::String(text) => match parse_uint(text.as_str().as_bytes(), 10) {
            Ok(number) => number,
            Err(_) => return failed(value, "uint"),
        },
        value => return failed(value, "uint"),
    };
    Ok(Value::Uint(number))
}

fn to_timestamp<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let time = match only(args)? {
        Value::Int(seconds) => Time {
            seconds: *seconds,
            nanos: 0,
            location: Location::Utc,
            monotonic: None,
        },
        value @ Value::String(text) => {
            match Time::parse(RFC3339_NANO, text.as_str().as_bytes(), &Location::Utc) {
                Ok(time) => time,
                Err(_) => return failed(value, "google.protobuf.Timestamp"),
            }
        }
        value => return failed(value, "google.protobuf.Timestamp"),
    };
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&time.seconds) {
        return Err(Error::TimestampOverflow);
    }
    Ok(Value::Timestamp(Arc::new(time)))
}

fn to_string<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    string_of(only(args)?, meter).map(Value::string)
}

/// The text of a scalar value.
pub(super) fn string_of(value: &Value<'_>, meter: &mut Meter) -> Result<String> {
    match value {
        Value::Bytes(bytes) => {
            meter.copy(bytes.len())?;
            let text = String::from_utf8(bytes.to_vec());
            text.map_err(|_| Error::function("invalid UTF-8 in bytes, cannot convert to string"))
        }
        Value::String(text) => {
            meter.copy(text.as_str().len())?;
            Ok(text.as_str().to_owned())
        }
        Value::Double(number) => Ok(display::double(*number)),
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Duration(_)
        | Value::Timestamp(_)
        | Value::Type(_) => Ok(value.to_string()),
        value => failed(value, "string"),
    }
}
