//! `jsonpatch`: the library for expressions that return JSON patches.

use super::{Function, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::Value;

pub(super) fn functions() -> Vec<Function> {
    use Type::String;
    vec![Function::new("jsonpatch.escapeKey").global(
        "string_jsonpatch_escapeKey_string",
        [String],
        String,
        escape_key,
    )]
}

/// Escapes a key for use in a JSON pointer.
fn escape_key<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>, Error> {
    let key = text(args.first().ok_or(Error::NoSuchOverload)?)?;
    meter.copy(key.len())?;
    Ok(Value::string(key.replace('~', "~0").replace('/', "~1")))
}
