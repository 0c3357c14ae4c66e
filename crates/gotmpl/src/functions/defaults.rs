//! Functions for default values and conditions.

use super::args::{any, bool};
use super::{CallResult, fixed, variadic};
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

/// Sprig's `empty`: nil, false, zero and empty collections. Structs are never empty.
pub(super) fn is_empty(value: &Value) -> bool {
    !value.is_true()
}

fn default(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let given = args.get(1).filter(|given| !is_empty(given));
    Ok(given.unwrap_or_else(|| any(args, 0)).clone())
}

fn coalesce(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(args
        .iter()
        .find(|value| !is_empty(value))
        .cloned()
        .unwrap_or_default())
}
