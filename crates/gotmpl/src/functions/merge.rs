//! Merging one map into another by the rules of the library mergo.
//!
//! Maps merge deeply and in place; a map that only the source has is shared with it, not copied.

use super::defaults::is_empty;
use crate::function::CallError;
use crate::value::{Map, MapType, Value};
use crate::walk::Walk;

/// Fills `target` from `source`: only what is missing or empty, or everything with `overwrite`.
pub(super) fn merge_into(target: &Map, source: &Map, overwrite: bool) -> Result<(), CallError> {
    merge(target, source, overwrite, 0, &mut Walk::new())
}

fn merge(
    target: &Map,
    source: &Map,
    overwrite: bool,
    depth: usize,
    walk: &mut Walk,
) -> Result<(), CallError> {
    if !walk.goes_on(depth) {
        return Err(CallError::returned("value is too large or contains itself"));
    }
    for (key, value) in source.entries() {
        let present = target.get(key.as_bytes());
        if value.is_nil() {
            if overwrite {
                target.set(key, Value::Nil);
            }
            continue;
        }
        if let (Some(Value::Map(inner)), Value::Map(from)) = (&present, &value)
            && !inner.is_nil()
        {
            merge(inner, from, overwrite, depth + 1, walk)?;
        }
        // Asked only now: the inner merge may have filled what was empty.
        let is_filled = present.as_ref().is_some_and(|present| !is_empty(present));
        let keeps = is_filled
            && match (&present, &value) {
                (Some(Value::Map(_)), Value::Map(_)) => true,
                _ => !overwrite,
            };
        if keeps {
            continue;
        }
        if target.ty() == MapType::Strings && source.ty() != MapType::Strings {
            return Err(CallError::returned(
                "reflect.Value.SetMapIndex: value of type interface {} is not assignable to type string",
            ));
        }
        target.set(key, value);
    }
    Ok(())
}
