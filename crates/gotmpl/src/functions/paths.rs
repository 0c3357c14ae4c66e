//! `path` and, with the prefix `os`, `path/filepath`. Both behave as on Unix.

use outrigger_gostd::path::bytes as path;

use super::args::bytes;
use super::{CallResult, fixed};
use crate::function::{Call, Function, Ty};
use crate::value::Value;

const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("base", &[STR], STR, base),
    fixed("dir", &[STR], STR, dir),
    fixed("clean", &[STR], STR, clean),
    fixed("ext", &[STR], STR, ext),
    fixed("isAbs", &[STR], Ty::Bool, is_abs),
    fixed("osBase", &[STR], STR, base),
    fixed("osDir", &[STR], STR, dir),
    fixed("osClean", &[STR], STR, clean),
    fixed("osExt", &[STR], STR, ext),
    fixed("osIsAbs", &[STR], Ty::Bool, is_abs),
];

fn base(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(path::base(bytes(args, 0))))
}

fn dir(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(path::dir(bytes(args, 0))))
}

fn clean(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(path::clean(bytes(args, 0))))
}

fn ext(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::str(path::ext(bytes(args, 0))))
}

fn is_abs(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    Ok(Value::Bool(path::is_abs(bytes(args, 0))))
}
