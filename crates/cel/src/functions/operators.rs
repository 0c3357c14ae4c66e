//! Operators, `size` and `in`.

use std::cmp::Ordering;
use std::mem::replace;
use std::sync::Arc;

use outrigger_gostd::time::Time;

use super::Function;
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::compare::{compare, equal, is_comparable};
use crate::value::{Text, Value};

type Result<T> = std::result::Result<T, Error>;

const A: Type = Type::Param("A");
const B: Type = Type::Param("B");

/// The first and last second of a timestamp.
const MIN_SECONDS: i128 = -62_135_596_800;
const MAX_SECONDS: i128 = 253_402_300_799;
const SECOND: i128 = 1_000_000_000;

pub(super) fn functions() -> Vec<Function> {
    let list = || Type::list(A);
    let map = || Type::map(A, B);
    let mut functions = vec![
        Function::new("_?_:_").declared("conditional", [Type::Bool, A, A], A),
        Function::new("_&&_").declared("logical_and", [Type::Bool, Type::Bool], Type::Bool),
        Function::new("_||_").declared("logical_or", [Type::Bool, Type::Bool], Type::Bool),
        Function::new("!_")
            .declared("logical_not", [Type::Bool], Type::Bool)
            .singleton(not),
        Function::new("@not_strictly_false").declared(
            "not_strictly_false",
            [Type::Bool],
            Type::Bool,
        ),
        Function::new("_==_").declared("equals", [A, A], Type::Bool),
        Function::new("_!=_").declared("not_equals", [A, A], Type::Bool),
        Function::new("_[_]")
            .declared("index_list", [list(), Type::Int], A)
            .declared("index_map", [map(), A], B),
        Function::new("@in")
            .declared("in_list", [A, list()], Type::Bool)
            .declared("in_map", [A, map()], Type::Bool)
            .singleton(contains),
        Function::new("-_")
            .declared("negate_double", [Type::Double], Type::Double)
            .declared("negate_int64", [Type::Int], Type::Int)
            .singleton(negate),
        Function::new("size")
            .declared("size_bytes", [Type::Bytes], Type::Int)
            .declared_member("bytes_size", [Type::Bytes], Type::Int)
            .declared("size_list", [list()], Type::Int)
            .declared_member("list_size", [list()], Type::Int)
            .declared("size_map", [map()], Type::Int)
            .declared_member("map_size", [map()], Type::Int)
            .declared("size_string", [Type::String], Type::Int)
            .declared_member("string_size", [Type::String], Type::Int)
            .singleton(size),
        Function::new("cel.@mapInsert")
            .global("@mapInsert_map_key_value", [map(), A, B], map(), insert)
            .global("@mapInsert_map_map", [map(), map()], map(), insert_all),
    ];
    functions.extend(arithmetic());
    functions.extend(relations());
    functions
}

fn arithmetic() -> Vec<Function> {
    let numbers = |name, ids: [&'static str; 3]| {
        Function::new(name)
            .declared(ids[0], [Type::Double, Type::Double], Type::Double)
            .declared(ids[1], [Type::Int, Type::Int], Type::Int)
            .declared(ids[2], [Type::Uint, Type::Uint], Type::Uint)
    };
    let (duration, timestamp) = (Type::Duration, Type::Timestamp);
    vec![
        Function::new("_+_")
            .declared("add_bytes", [Type::Bytes, Type::Bytes], Type::Bytes)
            .declared("add_double", [Type::Double, Type::Double], Type::Double)
            .declared(
                "add_duration_duration",
                [duration.clone(), duration.clone()],
                duration.clone(),
            )
            .declared(
                "add_duration_timestamp",
                [duration.clone(), timestamp.clone()],
                timestamp.clone(),
            )
            .declared(
                "add_timestamp_duration",
                [timestamp.clone(), duration.clone()],
                timestamp.clone(),
            )
            .declared("add_int64", [Type::Int, Type::Int], Type::Int)
            .declared("add_list", [Type::list(A), Type::list(A)], Type::list(A))
            .declared("add_string", [Type::String, Type::String], Type::String)
            .declared("add_uint64", [Type::Uint, Type::Uint], Type::Uint)
            .singleton(add),
        numbers("_/_", ["divide_double", "divide_int64", "divide_uint64"]).singleton(divide),
        Function::new("_%_")
            .declared("modulo_int64", [Type::Int, Type::Int], Type::Int)
            .declared("modulo_uint64", [Type::Uint, Type::Uint], Type::Uint)
            .singleton(modulo),
        numbers(
            "_*_",
            ["multiply_double", "multiply_int64", "multiply_uint64"],
        )
        .singleton(multiply),
        Function::new("_-_")
            .declared(
                "subtract_double",
                [Type::Double, Type::Double],
                Type::Double,
            )
            .declared(
                "subtract_duration_duration",
                [duration.clone(), duration.clone()],
                duration.clone(),
            )
            .declared("subtract_int64", [Type::Int, Type::Int], Type::Int)
            .declared(
                "subtract_timestamp_duration",
                [timestamp.clone(), duration.clone()],
                timestamp.clone(),
            )
            .declared(
                "subtract_timestamp_timestamp",
                [timestamp.clone(), timestamp],
                duration,
            )
            .declared("subtract_uint64", [Type::Uint, Type::Uint], Type::Uint)
            .singleton(subtract),
    ]
}

fn relations() -> Vec<Function> {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    macro_rules! relation {
        ($name:literal, $prefix:literal, $implementation:ident) => {
            Function::new($name)
                .declared(concat!($prefix, "_bool"), [Bool, Bool], Bool)
                .declared(concat!($prefix, "_int64"), [Int, Int], Bool)
                .declared(concat!($prefix, "_int64_double"), [Int, Double], Bool)
                .declared(concat!($prefix, "_int64_uint64"), [Int, Uint], Bool)
                .declared(concat!($prefix, "_uint64"), [Uint, Uint], Bool)
                .declared(concat!($prefix, "_uint64_double"), [Uint, Double], Bool)
                .declared(concat!($prefix, "_uint64_int64"), [Uint, Int], Bool)
                .declared(concat!($prefix, "_double"), [Double, Double], Bool)
                .declared(concat!($prefix, "_double_int64"), [Double, Int], Bool)
                .declared(concat!($prefix, "_double_uint64"), [Double, Uint], Bool)
                .declared(concat!($prefix, "_string"), [String, String], Bool)
                .declared(concat!($prefix, "_bytes"), [Bytes, Bytes], Bool)
                .declared(concat!($prefix, "_timestamp"), [Timestamp, Timestamp], Bool)
                .declared(concat!($prefix, "_duration"), [Duration, Duration], Bool)
                .singleton($implementation)
        };
    }
    vec![
        relation!("_<_", "less", less),
        relation!("_<=_", "less_equals", less_equals),
        relation!("_>_", "greater", greater),
        relation!("_>=_", "greater_equals", greater_equals),
    ]
}

/// The two operands, taken out of the arguments.
fn operands<'v>(args: &mut [Value<'v>]) -> Result<(Value<'v>, Value<'v>)> {
    match args {
        [one, other] => Ok((replace(one, Value::Null), replace(other, Value::Null))),
        _ => Err(Error::NoSuchOverload),
    }
}

/// The error for an operand that has no such operation at all.
fn unsupported<T>(function: &str, operand: &Value<'_>) -> Result<T> {
    match operand {
        Value::String(_) | Value::Timestamp(_) | Value::Duration(_) => Err(Error::NoSuchOverload),
        _ => Err(Error::function(format!("no such overload: {function}"))),
    }
}

fn not<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match args {
        [Value::Bool(flag)] => Ok(Value::Bool(!*flag)),
        _ => Err(Error::NoSuchOverload),
    }
}

fn negate<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match args {
        [Value::Int(number)] => number
            .checked_neg()
            .map(Value::Int)
            .ok_or(Error::IntOverflow),
        [Value::Double(number)] => Ok(Value::Double(-*number)),
        [Value::Duration(nanos)] => nanos
            .checked_neg()
            .map(Value::Duration)
            .ok_or(Error::IntOverflow),
        [Value::Bool(_)] => Err(Error::NoSuchOverload),
        [other] => unsupported("-_", other),
        _ => Err(Error::NoSuchOverload),
    }
}

/// A timestamp at a number of nanoseconds, in the location of another one.
fn timestamp<'v>(nanos: i128, like: &Time) -> Result<Value<'v>> {
    let seconds = nanos.div_euclid(SECOND);
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        return Err(Error::TimestampOverflow);
    }
    let time = Time::from_nanos(nanos, like.location.clone());
    Ok(Value::Timestamp(Arc::new(time)))
}

fn add<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let overflow = |sum: Option<i64>| sum.ok_or(Error::IntOverflow);
    match operands(args)? {
        (Value::Int(one), Value::Int(other)) => Ok(Value::Int(overflow(one.checked_add(other))?)),
        (Value::Uint(one), Value::Uint(other)) => {
            let sum = one.checked_add(other).ok_or(Error::UintOverflow)?;
            Ok(Value::Uint(sum))
        }
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one + other)),
        (Value::String(one), Value::String(other)) => {
            let (one, other) = (one.as_str(), other.as_str());
            meter.copy(one.len().saturating_add(other.len()))?;
            Ok(Value::String(Text::Shared([one, other].concat().into())))
        }
        (Value::Bytes(one), Value::Bytes(other)) => {
            meter.copy(one.len().saturating_add(other.len()))?;
            Ok(Value::Bytes([&*one, &*other].concat().into()))
        }
        (Value::List(one), Value::List(other)) => Ok(Value::List(one.add(other, meter)?)),
        (Value::Duration(one), Value::Duration(other)) => {
            Ok(Value::Duration(overflow(one.checked_add(other))?))
        }
        (Value::Duration(nanos), Value::Timestamp(time))
        | (Value::Timestamp(time), Value::Duration(nanos)) => {
            timestamp(time.total_nanos().saturating_add(i128::from(nanos)), &time)
        }
        (
            Value::Null
            | Value::Bool(_)
            | Value::Map(_)
            | Value::Object(_)
            | Value::Type(_)
            | Value::Optional(_)
            | Value::Opaque(_)
            | Value::Preserved(_),
            _,
        ) => unsupported("_+_", &Value::Null),
        _ => Err(Error::NoSuchOverload),
    }
}

fn subtract<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match operands(args)? {
        (Value::Int(one), Value::Int(other)) => one
            .checked_sub(other)
            .map(Value::Int)
            .ok_or(Error::IntOverflow),
        (Value::Uint(one), Value::Uint(other)) => one
            .checked_sub(other)
            .map(Value::Uint)
            .ok_or(Error::UintOverflow),
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one - other)),
        (Value::Duration(one), Value::Duration(other)) => one
            .checked_sub(other)
            .map(Value::Duration)
            .ok_or(Error::IntOverflow),
        (Value::Timestamp(time), Value::Duration(nanos)) => {
            let nanos = nanos.checked_neg().ok_or(Error::IntOverflow)?;
            timestamp(time.total_nanos().saturating_add(i128::from(nanos)), &time)
        }
        (Value::Timestamp(one), Value::Timestamp(other)) => {
            let nanos = one.total_nanos().saturating_sub(other.total_nanos());
            let nanos = i64::try_from(nanos).map_err(|_| Error::IntOverflow)?;
            Ok(Value::Duration(nanos))
        }
        (
            Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Duration(_)
            | Value::Timestamp(_),
            _,
        ) => Err(Error::NoSuchOverload),
        (other, _) => unsupported("_-_", &other),
    }
}

fn multiply<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match operands(args)? {
        (Value::Int(one), Value::Int(other)) => one
            .checked_mul(other)
            .map(Value::Int)
            .ok_or(Error::IntOverflow),
        (Value::Uint(one), Value::Uint(other)) => one
            .checked_mul(other)
            .map(Value::Uint)
            .ok_or(Error::UintOverflow),
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one * other)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => Err(Error::NoSuchOverload),
        (other, _) => unsupported("_*_", &other),
    }
}

fn divide<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match operands(args)? {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(Error::DivisionByZero)
        }
        (Value::Int(one), Value::Int(other)) => one
            .checked_div(other)
            .map(Value::Int)
            .ok_or(Error::IntOverflow),
        (Value::Uint(one), Value::Uint(other)) => one
            .checked_div(other)
            .map(Value::Uint)
            .ok_or(Error::DivisionByZero),
        (Value::Double(one), Value::Double(other)) => Ok(Value::Double(one / other)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => Err(Error::NoSuchOverload),
        (other, _) => unsupported("_/_", &other),
    }
}

fn modulo<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match operands(args)? {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(Error::ModulusByZero)
        }
        (Value::Int(one), Value::Int(other)) => one
            .checked_rem(other)
            .map(Value::Int)
            .ok_or(Error::IntOverflow),
        (Value::Uint(one), Value::Uint(other)) => one
            .checked_rem(other)
            .map(Value::Uint)
            .ok_or(Error::ModulusByZero),
        (Value::Int(_) | Value::Uint(_), _) => Err(Error::NoSuchOverload),
        (other, _) => unsupported("_%_", &other),
    }
}

fn relation<'v>(
    function: &str,
    args: &[Value<'v>],
    is_true: impl Fn(Ordering) -> bool,
) -> Result<Value<'v>> {
    match args {
        [one, _] if !is_comparable(one) => unsupported(function, one),
        [one, other] => Ok(Value::Bool(is_true(compare(one, other)?))),
        _ => Err(Error::NoSuchOverload),
    }
}

fn less<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    relation("_<_", args, Ordering::is_lt)
}

fn less_equals<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    relation("_<=_", args, Ordering::is_le)
}

fn greater<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    relation("_>_", args, Ordering::is_gt)
}

fn greater_equals<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    relation("_>=_", args, Ordering::is_ge)
}

fn size<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    if let [Value::String(text)] = args {
        meter.scan(text.as_str().len())?;
    }
    match args {
        [value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_))] => {
            Ok(Value::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
        }
        [other] => unsupported("size", other),
        _ => Err(Error::NoSuchOverload),
    }
}

fn contains<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match args {
        [element, Value::List(list)] => {
            let mut failure = None;
            for item in list.iter() {
                match item.and_then(|item| equal(&item, element, meter)) {
                    Ok(true) => return Ok(Value::Bool(true)),
                    Ok(false) => {}
                    Err(error) if error.is_cancellation() => return Err(error),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            failure.map_or(Ok(Value::Bool(false)), Err)
        }
        [key, Value::Map(map)] => match map.find(key) {
            Some(Err(error)) => Err(error),
            found => Ok(Value::Bool(found.is_some())),
        },
        _ => Err(Error::NoSuchOverload),
    }
}

/// Inserts an entry into the accumulator of a comprehension.
fn insert<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let [map, key, value] = args else {
        return Err(Error::NoSuchOverload);
    };
    let Value::Map(map) = replace(map, Value::Null) else {
        return Err(Error::NoSuchOverload);
    };
    let value = replace(value, Value::Null);
    Ok(Value::Map(map.insert(key, value)?))
}

fn insert_all<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (Value::Map(mut map), Value::Map(entries)) = operands(args)? else {
        return Err(Error::NoSuchOverload);
    };
    meter.work(entries.len())?;
    for key in entries.keys() {
        if let Some(value) = entries.find(&key) {
            map = map.insert(&key, value?)?;
        }
    }
    Ok(Value::Map(map))
}
