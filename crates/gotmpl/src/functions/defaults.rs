//! Functions that choose between values.

use super::args::{any, bool};
use super::{Outcome, fixed, variadic};
use crate::function::{Call, Function, Ty};
use crate::value::Value;

const ANY: Ty = Ty::Any;
const BOOL: Ty = Ty::Bool;

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("default", &[ANY, ANY], ANY, default),
    fixed("empty", &[ANY], BOOL, |_, args| {
        Ok(Value::Bool(is_empty(any(args, 0))))
    }),
    variadic("coalesce", &[ANY], ANY, coalesce),
    variadic("all", &[ANY], BOOL, |_, args| {
        Ok(Value::Bool(!args.iter().any(is_empty)))
    }),
    variadic("any", &[ANY], BOOL, |_, args| {
        Ok(Value::Bool(!args.iter().all(is_empty)))
    }),
    fixed("ternary", &[ANY, ANY, BOOL], ANY, |_, args| {
        Ok(any(args, usize::from(!bool(args, 2))).clone())
    }),
];

/// Whether Sprig takes the value for not set: nil, false, zero, or nothing in it. A struct is never empty.
pub(super) fn is_empty(value: &Value) -> bool {
    !value.is_true()
}

fn default(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    let given = args.get(1).filter(|given| !is_empty(given));
    Ok(given.unwrap_or_else(|| any(args, 0)).clone())
}

fn coalesce(_: &mut Call<'_>, args: &[Value]) -> Outcome {
    Ok(args
        .iter()
        .find(|value| !is_empty(value))
        .cloned()
        .unwrap_or_default())
}
