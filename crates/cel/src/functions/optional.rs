//! Optional values.

use super::{Function, list};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::Value;

type Result<T> = std::result::Result<T, Error>;

pub(super) fn functions() -> Vec<Function> {
    let (k, v) = (Type::Param("K"), Type::Param("V"));
    let optional = Type::optional(v.clone());
    let list = Type::list(v.clone());
    let map = Type::map(k.clone(), v.clone());
    let (optional_list, optional_map) = (Type::optional(list.clone()), Type::optional(map.clone()));
    let optionals = Type::list(optional.clone());
    let o = || optional.clone();
    vec![
        Function::new("optional.of").global("optional_of", [v.clone()], o(), of),
        Function::new("optional.ofNonZeroValue").global(
            "optional_ofNonZeroValue",
            [v.clone()],
            o(),
            of_non_zero,
        ),
        Function::new("optional.none").global("optional_none", [], o(), none),
        Function::new("value").member("optional_value", [o()], v.clone(), value),
        Function::new("hasValue").member("optional_hasValue", [o()], Type::Bool, has_value),
        Function::new("or").declared_member("optional_or_optional", [o(), o()], o()),
        Function::new("orValue").declared_member("optional_orValue_value", [o(), v.clone()], v),
        Function::new("_[?_]")
            .declared("list_optindex_optional_int", [list.clone(), Type::Int], o())
            .declared(
                "optional_list_optindex_optional_int",
                [optional_list.clone(), Type::Int],
                o(),
            )
            .declared("map_optindex_optional_value", [map, k.clone()], o())
            .declared(
                "optional_map_optindex_optional_value",
                [optional_map.clone(), k.clone()],
                o(),
            ),
        Function::new("_[_]")
            .declared("optional_list_index_int", [optional_list, Type::Int], o())
            .declared("optional_map_index_value", [optional_map, k], o()),
        Function::new("last").member("list_last", [list.clone()], o(), last),
        Function::new("first").member("list_first", [list.clone()], o(), first),
        Function::new("optional.unwrap").global(
            "optional_unwrap",
            [optionals.clone()],
            list.clone(),
            unwrap,
        ),
        Function::new("unwrapOpt").member("optional_unwrapOpt", [optionals], list, unwrap),
    ]
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of implementations")]
fn of<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::optional(args.first().cloned()))
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of implementations")]
fn of_non_zero<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let value = args.first().filter(|value| !value.is_zero());
    Ok(Value::optional(value.cloned()))
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of implementations")]
fn none<'v>(_: &mut Meter, _: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Optional(None))
}

fn value<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match args {
        [Value::Optional(Some(value))] => Ok(value.as_ref().clone()),
        [Value::Optional(None)] => Err(Error::function("optional.none() dereference")),
        _ => Err(Error::NoSuchOverload),
    }
}

fn has_value<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    match args {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => Err(Error::NoSuchOverload),
    }
}

fn at<'v>(args: &[Value<'v>], index: impl Fn(usize) -> Option<usize>) -> Result<Value<'v>> {
    let list = list(args.first().ok_or(Error::NoSuchOverload)?)?;
    let item = index(list.len()).and_then(|index| list.get(index));
    Ok(Value::optional(item.transpose()?))
}

fn first<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    at(args, |length| (length > 0).then_some(0))
}

fn last<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    at(args, |length| length.checked_sub(1))
}

fn unwrap<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let list = list(args.first().ok_or(Error::NoSuchOverload)?)?;
    let mut values = Vec::new();
    for item in list.to_vec(meter)? {
        match item {
            Value::Optional(Some(value)) => values.push(value.as_ref().clone()),
            Value::Optional(None) => {}
            other => return Err(Error::function(format!("value {other} is not optional"))),
        }
    }
    Ok(Value::list(values))
}
