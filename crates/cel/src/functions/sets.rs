//! Lists as sets: cel-go's `sets` extension.

use super::{Function, list};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::compare::equal;
use crate::value::{List, Value};

type Result<T> = std::result::Result<T, Error>;

pub(super) fn functions() -> Vec<Function> {
    let lists = || [Type::list(Type::Param("T")), Type::list(Type::Param("T"))];
    vec![
        Function::new("sets.contains").global(
            "list_sets_contains_list",
            lists(),
            Type::Bool,
            contains,
        ),
        Function::new("sets.equivalent").global(
            "list_sets_equivalent_list",
            lists(),
            Type::Bool,
            equivalent,
        ),
        Function::new("sets.intersects").global(
            "list_sets_intersects_list",
            lists(),
            Type::Bool,
            intersects,
        ),
    ]
}

fn two<'a, 'v>(args: &'a [Value<'v>]) -> Result<(&'a List<'v>, &'a List<'v>)> {
    match args {
        [one, other] => Ok((list(one)?, list(other)?)),
        _ => Err(Error::NoSuchOverload),
    }
}

/// Whether a list contains an element. The error is that of the first element that cannot be compared.
fn has(items: &List<'_>, wanted: &Value<'_>, meter: &mut Meter) -> Result<bool> {
    let mut failure = None;
    for item in items.iter() {
        match item.and_then(|item| equal(&item, wanted, meter)) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) if error.is_cancellation() => return Err(error),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(false), Err)
}

fn has_all(items: &List<'_>, wanted: &List<'_>, meter: &mut Meter) -> Result<bool> {
    for item in wanted.iter() {
        if !has(items, &item?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (one, other) = two(args)?;
    Ok(Value::Bool(has_all(one, other, meter)?))
}

fn equivalent<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (one, other) = two(args)?;
    let is_equivalent = has_all(one, other, meter)? && has_all(other, one, meter)?;
    Ok(Value::Bool(is_equivalent))
}

fn intersects<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (one, other) = two(args)?;
    for item in one.iter() {
        match has(other, &item?, meter) {
            Ok(true) => return Ok(Value::Bool(true)),
            Err(error) if error.is_cancellation() => return Err(error),
            Ok(false) | Err(_) => {}
        }
    }
    Ok(Value::Bool(false))
}
