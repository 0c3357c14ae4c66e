//! Values to YAML and back, as Helm's functions do it.

use crate::function::{Call, CallError, Function, Ty};
use crate::value::Value;

pub(crate) static TABLE: &[Function] = &[Function {
    name: "toYaml",
    params: &[Ty::Any],
    variadic: false,
    result: Ty::String,
    body: to_yaml,
}];

fn to_yaml(_: &mut Call<'_>, args: &[Value]) -> Result<Value, CallError> {
    let mut out = Vec::new();
    append_yaml(&mut out, args.first().unwrap_or(&Value::Nil));
    Ok(Value::str(out))
}

pub(crate) fn append_yaml(out: &mut Vec<u8>, value: &Value) {
    crate::fmt::write_display(out, value);
}

pub(crate) fn marshal(value: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    append_yaml(&mut out, value);
    Ok(out)
}
