//! Equality and order of values.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::list::{List, is_same};
use super::{Map, Object, Value};
use crate::error::Error;
use crate::meter::Meter;
use crate::schema::ListType;

/// `==`. Values of different types are not equal, except that numbers are compared by their value.
pub(crate) fn equal(one: &Value<'_>, other: &Value<'_>, meter: &mut Meter) -> Result<bool, Error> {
    meter.work(1)?;
    Ok(match (one, other) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::String(one), Value::String(other)) => one == other,
        (Value::Bytes(one), Value::Bytes(other)) => one == other,
        (Value::Duration(one), Value::Duration(other)) => one == other,
        (Value::Timestamp(one), Value::Timestamp(other)) => {
            one.total_nanos() == other.total_nanos()
        }
        (Value::Type(one), Value::Type(other)) => one.runtime_name() == other.runtime_name(),
        (Value::List(one), Value::List(other)) => return lists(one, other, meter),
        (Value::Map(one), Value::Map(other)) => return maps(one, other, meter),
        (Value::Object(one), Value::Object(other)) => return objects(one, other, meter),
        (Value::Optional(Some(one)), Value::Optional(Some(other))) => {
            return equal(one, other, meter);
        }
        (Value::Optional(one), Value::Optional(other)) => one.is_none() && other.is_none(),
        (Value::Opaque(one), Value::Opaque(other)) => return one.equal(other),
        (Value::Opaque(_), other) if !matches!(other, Value::Null) => {
            return Err(Error::NoSuchOverload);
        }
        (Value::Preserved(one), Value::Preserved(other)) => return json(one, other, meter),
        (one, other) => numbers(one, other) == Some(Ordering::Equal),
    })
}

fn lists(one: &List<'_>, other: &List<'_>, meter: &mut Meter) -> Result<bool, Error> {
    if one.len() != other.len() {
        return Ok(false);
    }
    if let List::Typed(_, schema) = one {
        match schema.list_type() {
            ListType::Atomic => {}
            ListType::Set => return unordered(one, other, &[], meter),
            ListType::Map(keys) => return unordered(one, other, keys, meter),
        }
    }
    for (one, other) in one.iter().zip(other.iter()) {
        if !equal(&one?, &other?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Equality of sets and of lists with keys.
fn unordered(
    one: &List<'_>,
    other: &List<'_>,
    keys: &[String],
    meter: &mut Meter,
) -> Result<bool, Error> {
    let items = one.to_vec(meter)?;
    for item in other.iter() {
        let item = item?;
        let mut found = None;
        for candidate in &items {
            if is_same(candidate, &item, keys, meter)? {
                found = Some(candidate);
                break;
            }
        }
        let is_equal = match found {
            None => false,
            Some(_) if keys.is_empty() => true,
            Some(candidate) => equal(candidate, &item, meter)?,
        };
        if !is_equal {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps(one: &Map<'_>, other: &Map<'_>, meter: &mut Meter) -> Result<bool, Error> {
    if one.len() != other.len() {
        return Ok(false);
    }
    if let (Map::Typed(one, schema), Map::Typed(other, _)) = (one, other) {
        let undeclared = one.iter().filter(|(key, _)| schema.field(key).is_none());
        for (key, value) in undeclared {
            let is_equal = match other.get(key) {
                Some(other) => json(value, other, meter)?,
                None => true,
            };
            if !is_equal {
                return Ok(false);
            }
        }
    }
    for key in one.keys() {
        let is_equal = match (one.find(&key), other.find(&key)) {
            (None, None) => true,
            (Some(one), Some(other)) => equal(&one?, &other?, meter)?,
            _ => false,
        };
        if !is_equal {
            return Ok(false);
        }
    }
    Ok(true)
}

fn objects(one: &Object<'_>, other: &Object<'_>, meter: &mut Meter) -> Result<bool, Error> {
    if one.type_ != other.type_ || one.fields.len() != other.fields.len() {
        return Ok(false);
    }
    for (name, value) in &one.fields {
        let is_equal = match other.fields.get(name) {
            Some(other) => equal(value, other, meter)?,
            None => false,
        };
        if !is_equal {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Equality of data without a schema.
fn json(one: &Json, other: &Json, meter: &mut Meter) -> Result<bool, Error> {
    meter.work(1)?;
    match (one, other) {
        (Json::Array(one), Json::Array(other)) => {
            if one.len() != other.len() {
                return Ok(false);
            }
            for (one, other) in one.iter().zip(other) {
                if !json(one, other, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Object(one), Json::Object(other)) => {
            if one.len() != other.len() {
                return Ok(false);
            }
            for (key, one) in one {
                let is_equal = match other.get(key) {
                    Some(other) => json(one, other, meter)?,
                    None => false,
                };
                if !is_equal {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (one, other) => Ok(one == other),
    }
}

/// The order of two numbers of any type; `None` for NaN and for other values.
#[expect(
    clippy::cast_precision_loss,
    reason = "doubles are compared with rounded integers, as in cel-go"
)]
fn numbers(one: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
        (Value::Uint(one), Value::Uint(other)) => Some(one.cmp(other)),
        (Value::Int(one), Value::Uint(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
        (Value::Uint(one), Value::Int(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
        (Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Value::Double(one), Value::Int(other)) => one.partial_cmp(&(*other as f64)),
        (Value::Int(one), Value::Double(other)) => (*one as f64).partial_cmp(other),
        (Value::Double(one), Value::Uint(other)) => one.partial_cmp(&(*other as f64)),
        (Value::Uint(one), Value::Double(other)) => (*one as f64).partial_cmp(other),
        _ => None,
    }
}

/// The order of two values, if they have one.
pub(crate) fn compare(one: &Value<'_>, other: &Value<'_>) -> Result<Ordering, Error> {
    let is_nan = |value: &Value<'_>| matches!(value, Value::Double(number) if number.is_nan());
    let is_number =
        |value: &Value<'_>| matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_));
    if is_number(one) && is_number(other) && (is_nan(one) || is_nan(other)) {
        return Err(Error::function("NaN values cannot be ordered"));
    }
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => Ok(one.cmp(other)),
        (Value::String(one), Value::String(other)) => Ok(one.cmp(other)),
        (Value::Bytes(one), Value::Bytes(other)) => Ok(one.cmp(other)),
        (Value::Duration(one), Value::Duration(other)) => Ok(one.cmp(other)),
        (Value::Timestamp(one), Value::Timestamp(other)) => {
            Ok(one.total_nanos().cmp(&other.total_nanos()))
        }
        (one, other) => numbers(one, other).ok_or(Error::NoSuchOverload),
    }
}

/// Whether a value can be ordered at all.
pub(crate) fn is_comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
    )
}
