//! `mergo.Merge`
//!
//! Maps are merged recursively and in place. A map that only the source contains is shared, not copied.

use super::defaults::is_empty;
use crate::function::CallError;
use crate::traversal::{VisitBudget, too_long_to_traverse};
use crate::value::{Map, MapType, Value};

/// Sets the keys of `target` that are missing or empty or, with `overwrite`, all keys of `source`.
pub(super) fn merge_into(target: &Map, source: &Map, overwrite: bool) -> Result<(), CallError> {
    merge(target, source, overwrite, 0, &mut VisitBudget::new())
}

fn merge(
    target: &Map,
    source: &Map,
    overwrite: bool,
    depth: usize,
    budget: &mut VisitBudget,
) -> Result<(), CallError> {
    if !budget.visit(depth) {
        return Err(CallError::returned(too_long_to_traverse()));
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
            merge(inner, from, overwrite, depth + 1, budget)?;
        }
        // Checked after the inner merge, which may have filled an empty map.
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
