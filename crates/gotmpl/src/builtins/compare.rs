//! `eq`, `ne`, `lt`, `le`, `gt` and `ge`, with Go's rules on which types are comparable.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::fmt;
use crate::function::{Call, CallError, CallResult, Dialect};
use crate::value::{Kind, Value};

type Truth = Result<bool, CallError>;

pub(super) fn eq(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let [first, others @ ..] = args else {
        return Err(CallError::returned("missing argument for comparison"));
    };
    if others.is_empty() {
        return Err(CallError::returned("missing argument for comparison"));
    }
    let first = basic(first);
    for other in others {
        if are_equal(call.dialect, &first, &basic(other))? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

pub(super) fn ne(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (a, b) = two(args);
    Ok(Value::Bool(!are_equal(call.dialect, &a, &b)?))
}

pub(super) fn lt(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (a, b) = two(args);
    Ok(Value::Bool(is_less(call.dialect, &a, &b)?))
}

pub(super) fn le(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (a, b) = two(args);
    Ok(Value::Bool(is_less_or_equal(call.dialect, &a, &b)?))
}

pub(super) fn gt(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (a, b) = two(args);
    Ok(Value::Bool(!is_less_or_equal(call.dialect, &a, &b)?))
}

pub(super) fn ge(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (a, b) = two(args);
    Ok(Value::Bool(!is_less(call.dialect, &a, &b)?))
}

fn two(args: &[Value]) -> (Value, Value) {
    let arg = |i: usize| args.get(i).map(basic).unwrap_or_default();
    (arg(0), arg(1))
}

/// The basic value of a named basic type.
fn basic(value: &Value) -> Value {
    match value {
        Value::Object(object) => object.scalar().unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

/// `kind` of text/template: types of the same kind are comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BasicKind {
    None,
    Bool,
    Int,
    Uint,
    Float,
    String,
}

fn basic_kind(value: &Value) -> BasicKind {
    match value {
        Value::Bool(_) => BasicKind::Bool,
        Value::Int(_) | Value::Int64(_) => BasicKind::Int,
        Value::Uint8(_) | Value::Uint64(_) => BasicKind::Uint,
        Value::Float(_) => BasicKind::Float,
        Value::Str(_) => BasicKind::String,
        _ => BasicKind::None,
    }
}

/// The value of any integer type.
fn integer(value: &Value) -> i128 {
    match value {
        Value::Int(n) | Value::Int64(n) => i128::from(*n),
        Value::Uint8(n) => i128::from(*n),
        Value::Uint64(n) => i128::from(*n),
        _ => 0,
    }
}

fn are_equal(dialect: &Dialect, a: &Value, b: &Value) -> Truth {
    match (basic_kind(a), basic_kind(b)) {
        (BasicKind::Int | BasicKind::Uint, BasicKind::Int | BasicKind::Uint) => {
            Ok(integer(a) == integer(b))
        }
        (x, y) if x != y => {
            if a.is_nil() || b.is_nil() {
                return Ok(false);
            }
            Err(incompatible(dialect, a, b))
        }
        (BasicKind::None, _) => others_equal(a, b),
        _ => Ok(match (a, b) {
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b) == Some(Ordering::Equal),
            (Value::Str(a), Value::Str(b)) => a == b,
            _ => false,
        }),
    }
}

/// Lists, maps, objects and nil.
fn others_equal(a: &Value, b: &Value) -> Truth {
    let (kind_a, kind_b) = (a.kind(), b.kind());
    if kind_a != kind_b && kind_a != Kind::Invalid && kind_b != Kind::Invalid {
        let (a_text, b_text) = (as_string(a), as_text(b));
        let (a_type, b_type) = (a.type_name(), b.type_name());
        return Err(CallError::Returned(format!(
            "non-comparable types {a_text}: {a_type}, {b_type}: {b_text}"
        )));
    }
    if is_nil(a) || is_nil(b) {
        return Ok(is_nil(a) == is_nil(b));
    }
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if kind_b != Kind::Slice && kind_b != Kind::Map => {
            Ok(Rc::ptr_eq(a, b) || a.type_name() == b.type_name() && a.display() == b.display())
        }
        _ => {
            let (text, type_name) = (as_string(b), b.type_name());
            Err(CallError::Returned(format!(
                "non-comparable type {text}: {type_name}"
            )))
        }
    }
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    }
}

/// `%v`
fn as_text(value: &Value) -> String {
    let text = fmt::sprint(std::slice::from_ref(value));
    String::from_utf8_lossy(&text).into_owned()
}

/// `%s`
fn as_string(value: &Value) -> String {
    let text = fmt::sprintf(b"%s", std::slice::from_ref(value));
    String::from_utf8_lossy(&text).into_owned()
}

fn is_less(dialect: &Dialect, a: &Value, b: &Value) -> Truth {
    let bad = || CallError::returned("invalid type for comparison");
    match (basic_kind(a), basic_kind(b)) {
        (BasicKind::None, _) | (_, BasicKind::None) | (BasicKind::Bool, BasicKind::Bool) => {
            Err(bad())
        }
        (BasicKind::Int | BasicKind::Uint, BasicKind::Int | BasicKind::Uint) => {
            Ok(integer(a) < integer(b))
        }
        _ => match (a, b) {
            (Value::Float(a), Value::Float(b)) => Ok(a < b),
            (Value::Str(a), Value::Str(b)) => Ok(a < b),
            _ => Err(incompatible(dialect, a, b)),
        },
    }
}

fn is_less_or_equal(dialect: &Dialect, a: &Value, b: &Value) -> Truth {
    Ok(is_less(dialect, a, b)? || are_equal(dialect, a, b)?)
}

/// Since Go 1.24 the message contains the types.
fn incompatible(dialect: &Dialect, a: &Value, b: &Value) -> CallError {
    let mut message = String::from("incompatible types for comparison");
    if dialect.range_over_int {
        let (a, b) = (a.type_name(), b.type_name());
        message = format!("{message}: {a} and {b}");
    }
    CallError::Returned(message)
}
