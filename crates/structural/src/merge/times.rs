//! Writes that change nothing keep the times of their entries, so that they are no writes at all.

use serde_json::Value;

use super::managed::entries_of;

/// Gives the entries of the new object their old times if nothing else changed. Call it right before the object is
/// stored, and store nothing if the objects are equal then.
pub fn keep_times(old: &Value, new: &mut Value) {
    let (Some(old_entries), Some(new_entries)) = (entries_of(old), entries_of(new)) else {
        return;
    };
    let is_same_entry = |(old, new): (&Value, &Value)| without_time(old) == without_time(new);
    let is_same = old_entries.len() == new_entries.len()
        && old_entries.iter().zip(new_entries).all(is_same_entry);
    if !is_same || !is_same_apart_from_entries(old, new) {
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

fn is_same_apart_from_entries(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    old.len() == new.len()
        && old.iter().all(|(name, old)| match new.get(name) {
            Some(new) if name == "metadata" => is_same_metadata(old, new),
            Some(new) => old == new,
            None => false,
        })
}

fn is_same_metadata(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    old.len() == new.len()
        && old
            .iter()
            .all(|(name, old)| name == "managedFields" || new.get(name) == Some(old))
}
