//! Helm's own functions around rendering: `include`, `tpl`, `required`, `fail`, `lookup`.
//!
//! The executor implements `include` and `tpl`; their bodies here are never called.

use memchr::memmem;

use crate::function::{Call, CallError, Function, Host, Ty};
use crate::registry::Operation;
use crate::value::{Str, Value};

pub(crate) static TABLE: &[Function] = &[
    Function {
        name: "include",
        params: &[Ty::String, Ty::Any],
        variadic: false,
        result: Ty::String,
        body: by_executor,
    },
    Function {
        name: "tpl",
        params: &[Ty::String, Ty::Any],
        variadic: false,
        result: Ty::String,
        body: by_executor,
    },
    Function {
        name: "required",
        params: &[Ty::String, Ty::Any],
        variadic: false,
        result: Ty::Any,
        body: required,
    },
    Function {
        name: "fail",
        params: &[Ty::String],
        variadic: false,
        result: Ty::String,
        body: fail,
    },
    Function {
        name: "lookup",
        params: &[Ty::String, Ty::String, Ty::String, Ty::String],
        variadic: false,
        result: Ty::Map,
        body: lookup,
    },
];

fn by_executor(_: &mut Call<'_>, _: &[Value]) -> Result<Value, CallError> {
    Err(CallError::returned("implemented by the executor"))
}

fn required(_: &mut Call<'_>, args: &[Value]) -> Result<Value, CallError> {
    match args {
        [message, value] if is_missing(value) => Err(CallError::Failed(text(message))),
        [_, value] => Ok(value.clone()),
        _ => Ok(Value::Nil),
    }
}

fn is_missing(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::Str(text) => text.is_empty(),
        _ => false,
    }
}

fn fail(_: &mut Call<'_>, args: &[Value]) -> Result<Value, CallError> {
    Err(CallError::Failed(
        args.first().map(text).unwrap_or_default(),
    ))
}

fn lookup(call: &mut Call<'_>, args: &[Value]) -> Result<Value, CallError> {
    let text = |i: usize| args.get(i).map(text).unwrap_or_default();
    call.host.lookup(&text(0), &text(1), &text(2), &text(3))
}

fn text(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_text().into_owned(),
        _ => String::new(),
    }
}

/// The results of `required`, `fail` and `lookup` in lint mode, in which they do not fail.
pub(crate) fn lint_result(operation: Operation, args: &[Value], host: &dyn Host) -> Value {
    match (operation, args) {
        (Operation::Lookup, _) => return Value::map(Vec::new()),
        (Operation::Required, [_, value]) if !is_missing(value) => return value.clone(),
        (Operation::Required, [message, ..]) => {
            host.lint_message(&format!("missing required value: {}", text(message)));
        }
        (_, [message, ..]) => host.lint_message(&format!("fail: {}", text(message))),
        _ => {}
    }
    Value::Str(Str::default())
}

/// Removes each `<no value>` from `start` on.
pub(crate) fn remove_no_value(out: &mut Vec<u8>, start: usize) {
    const NO_VALUE: &[u8] = b"<no value>";
    let Some(first) = memmem::find(&out[start..], NO_VALUE) else {
        return;
    };
    let tail = out.split_off(start + first);
    let mut rest = tail.as_slice();
    while let Some(at) = memmem::find(rest, NO_VALUE) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + NO_VALUE.len()..];
    }
    out.extend_from_slice(rest);
}
