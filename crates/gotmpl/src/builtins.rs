//! The built-in functions of text/template.

mod compare;
mod escape;
mod index;

use crate::exec::length_of;
use crate::fmt;
use crate::function::{Call, CallError, CallResult, Function, Ty};
use crate::value::Value;

const fn function(
    name: &'static str,
    params: &'static [Ty],
    variadic: bool,
    result: Ty,
    body: crate::function::Body,
) -> Function {
    Function {
        name,
        params,
        variadic,
        result,
        body,
    }
}

const ONE: &[Ty] = &[Ty::Reflect];
const TWO: &[Ty] = &[Ty::Reflect, Ty::Reflect];
const ANY: &[Ty] = &[Ty::Any];

pub(crate) static TABLE: &[Function] = &[
    function("and", TWO, true, Ty::Reflect, by_executor),
    function("call", TWO, true, Ty::Reflect, by_executor),
    function("html", ANY, true, Ty::String, escape::html),
    function("index", TWO, true, Ty::Reflect, index::index),
    function("slice", TWO, true, Ty::Reflect, index::slice),
    function("js", ANY, true, Ty::String, escape::js),
    function("len", ONE, false, Ty::Int, len),
    function("not", ONE, false, Ty::Bool, not),
    function("or", TWO, true, Ty::Reflect, by_executor),
    function("print", ANY, true, Ty::String, print),
    function("printf", &[Ty::String, Ty::Any], true, Ty::String, printf),
    function("println", ANY, true, Ty::String, println),
    function("urlquery", ANY, true, Ty::String, escape::urlquery),
    function("eq", TWO, true, Ty::Bool, compare::eq),
    function("ge", TWO, false, Ty::Bool, compare::ge),
    function("gt", TWO, false, Ty::Bool, compare::gt),
    function("le", TWO, false, Ty::Bool, compare::le),
    function("lt", TWO, false, Ty::Bool, compare::lt),
    function("ne", TWO, false, Ty::Bool, compare::ne),
];

fn by_executor(_: &mut Call<'_>, _: &[Value]) -> CallResult {
    Err(CallError::returned("implemented by the executor"))
}

fn len(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    length_of(args.first().unwrap_or(&Value::Nil))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn not(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::Bool(!args.first().is_some_and(Value::is_true)))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn print(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(fmt::sprint(args)))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn println(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(fmt::sprintln(args)))
}

#[expect(clippy::unnecessary_wraps, reason = "all bodies have one signature")]
fn printf(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let text = match args {
        [Value::Str(format), rest @ ..] => fmt::sprintf(format.as_bytes(), rest),
        _ => Vec::new(),
    };
    Ok(Value::str(text))
}
