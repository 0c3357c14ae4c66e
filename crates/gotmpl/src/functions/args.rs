//! Access to arguments, whose types the executor has checked.
//!
//! An argument may be nil where Go allows it; then it is an empty map or list.

use std::borrow::Cow;

use crate::fmt;
use crate::value::{Element, Map, MapType, Str, Value};

const NIL: &Value = &Value::Nil;

pub(super) fn any(args: &[Value], at: usize) -> &Value {
    args.get(at).unwrap_or(NIL)
}

/// The arguments of a variadic parameter, which start at `at`.
pub(super) fn rest(args: &[Value], at: usize) -> &[Value] {
    args.get(at..).unwrap_or_default()
}

pub(super) fn bytes(args: &[Value], at: usize) -> &[u8] {
    match args.get(at) {
        Some(Value::Str(text)) => text.as_bytes(),
        _ => b"",
    }
}

pub(super) fn text(args: &[Value], at: usize) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes(args, at))
}

pub(super) fn string(args: &[Value], at: usize) -> Str {
    match args.get(at) {
        Some(Value::Str(text)) => text.clone(),
        _ => Str::from(""),
    }
}

pub(super) fn int(args: &[Value], at: usize) -> i64 {
    match args.get(at) {
        Some(Value::Int(n) | Value::Int64(n)) => *n,
        Some(Value::Uint8(n)) => i64::from(*n),
        Some(Value::Uint64(n)) => i64::try_from(*n).unwrap_or(i64::MAX),
        _ => 0,
    }
}

pub(super) fn float(args: &[Value], at: usize) -> f64 {
    match args.get(at) {
        Some(Value::Float(x)) => *x,
        _ => 0.0,
    }
}

pub(super) fn bool(args: &[Value], at: usize) -> bool {
    matches!(args.get(at), Some(Value::Bool(true)))
}

/// The map, converted to the parameter type `map[string]interface {}`.
pub(super) fn map(args: &[Value], at: usize) -> Map {
    match args.get(at) {
        Some(Value::Map(map)) => map.retyped(MapType::Any),
        _ => Map::nil(MapType::Any),
    }
}

/// The items of a `[]interface {}`.
pub(super) fn items(args: &[Value], at: usize) -> &[Value] {
    match args.get(at) {
        Some(Value::List(list)) => list.items(),
        _ => &[],
    }
}

/// Sprig's `strval`: strings and bytes unchanged, other values in their `%v` form.
pub(super) fn strval(value: &Value) -> Cow<'_, [u8]> {
    match value {
        Value::Str(text) => Cow::Borrowed(text.as_bytes()),
        Value::List(list) if list.element() == Element::Byte => list
            .items()
            .iter()
            .filter_map(|item| match item {
                Value::Uint8(byte) => Some(*byte),
                _ => None,
            })
            .collect(),
        other => Cow::Owned(fmt::display(other)),
    }
}

/// `strval` as a string value.
pub(super) fn to_str(value: &Value) -> Str {
    match value {
        Value::Str(text) => text.clone(),
        other => Str::from(strval(other).into_owned()),
    }
}
