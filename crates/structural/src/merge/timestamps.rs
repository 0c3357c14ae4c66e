//! Keeps the timestamps of managed fields if nothing else changes, so that such a write is a no-op.

use serde_json::Value;

use super::managed_fields::raw_entries;

/// Restores the old timestamps of managed fields if they are all that differs. Call it right before storing the object,
/// and skip the write if the objects are equal then.
pub fn ignore_managed_fields_timestamps(old: &Value, new: &mut Value) {
    let (Some(old_entries), Some(new_entries)) = (raw_entries(old), raw_entries(new)) else {
        return;
    };
    let is_equal_entry = |(old, new): (&Value, &Value)| without_time(old) == without_time(new);
    let are_equal = old_entries.len() == new_entries.len()
        && old_entries.iter().zip(new_entries).all(is_equal_entry);
    if !are_equal || !is_equal_without_managed_fields(old, new) {
        return;
    }
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(
            "managedFields".to_owned(),
            Value::Array(old_entries.clone()),
        );
    }
}

fn without_time(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let Some(entry) = entry.as_object_mut() {
        entry.remove("time");
    }
    entry
}

fn is_equal_without_managed_fields(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    old.len() == new.len()
        && old.iter().all(|(name, old)| match new.get(name) {
            Some(new) if name == "metadata" => is_equal_metadata(old, new),
            Some(new) => old == new,
            None => false,
        })
}

fn is_equal_metadata(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    old.len() == new.len()
        && old
            .iter()
            .all(|(name, old)| name == "managedFields" || new.get(name) == Some(old))
}
