//! `getHostByName`, which resolves names through the host.

use super::args::text;
use super::fixed;
use crate::function::{Function, Ty};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[fixed(
    "getHostByName",
    &[Ty::String],
    Ty::String,
    |call, args| Ok(Value::str(call.host.host_by_name(&text(args, 0)))),
)];
