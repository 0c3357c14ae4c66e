//! `metadata.managedFields`: which manager owns which fields.

use std::collections::BTreeMap;

use outrigger_gostd::json::marshal;
use outrigger_gostd::strconv::quote;
use serde_json::{Map, Value};

use super::set::Set;
use super::set_json;

/// Why `metadata.managedFields` cannot be decoded. The messages are those of kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    EmptyApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    MissingFieldsType(usize),
    #[error("invalid fieldsType {0} in managed fields entry {1}")]
    InvalidFieldsType(String, usize),
    #[error("error decoding versioned set: error decoding set: {0}")]
    Set(#[from] set_json::DecodeError),
}

/// The operation by which a manager owns its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A `ManagedFieldsEntry`.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) fields: Set,
}

impl Entry {
    /// `BuildManagerIdentifier`: the JSON of the fields that identify an entry. An applier has one entry for all versions.
    pub(super) fn identifier(&self) -> String {
        let mut members = Vec::new();
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                members.push(format!(
                    "\"{name}\":{}",
                    marshal(&Value::String(value.to_owned()))
                ));
            }
        };
        add("manager", &self.manager);
        add("operation", self.operation.name());
        if self.operation == Operation::Update {
            add("apiVersion", &self.api_version);
        }
        add("subresource", &self.subresource);
        format!("{{{}}}", members.join(","))
    }

    /// The manager as in the messages of conflicts.
    pub(super) fn display_manager(&self) -> String {
        let mut text = quote(&self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {}", quote(&self.subresource)));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }

    fn unix_time(&self) -> i64 {
        self.time.as_deref().map_or(0, unix_seconds)
    }

    fn to_value(&self) -> Value {
        let mut entry = Map::new();
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                entry.insert(name.to_owned(), value.into());
            }
        };
        add("manager", &self.manager);
        add("operation", self.operation.name());
        add("apiVersion", &self.api_version);
        add("time", self.time.as_deref().unwrap_or_default());
        add("fieldsType", "FieldsV1");
        add("subresource", &self.subresource);
        entry.insert("fieldsV1".to_owned(), self.fields.to_value());
        Value::Object(entry)
    }

    fn from_value(value: &Value, index: usize) -> Result<Self, DecodeError> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(DecodeError::Operation),
        };
        if text("apiVersion").is_empty() {
            return Err(DecodeError::EmptyApiVersion);
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(DecodeError::MissingFieldsType(index)),
            other => return Err(DecodeError::InvalidFieldsType(quote(other), index)),
        }
        let fields = match value.get("fieldsV1") {
            Some(fields) => Set::from_value(fields)?,
            None => Set::new(),
        };
        Ok(Self {
            manager: text("manager").to_owned(),
            operation,
            api_version: text("apiVersion").to_owned(),
            subresource: text("subresource").to_owned(),
            time: value.get("time").and_then(Value::as_str).map(str::to_owned),
            fields,
        })
    }
}

/// All entries of an object, by identifier.
pub(super) type ManagedFields = BTreeMap<String, Entry>;

/// Decodes `metadata.managedFields` of an object.
pub(super) fn decode(object: Option<&Value>) -> Result<ManagedFields, DecodeError> {
    let entries = object.and_then(raw_entries).map_or(&[][..], Vec::as_slice);
    let entries = entries.iter().enumerate();
    entries
        .map(|(index, entry)| {
            let entry = Entry::from_value(entry, index)?;
            Ok((entry.identifier(), entry))
        })
        .collect()
}

/// Encodes `metadata.managedFields` into an object: appliers before updaters, then by time.
pub(super) fn encode(object: &mut Value, managed: &ManagedFields) {
    let mut entries: Vec<&Entry> = managed.values().collect();
    entries.sort_by(|a, b| {
        let key = |entry: &Entry| (entry.operation, entry.unix_time());
        let names = |entry: &Entry| {
            [&entry.manager, &entry.api_version, &entry.subresource].map(String::clone)
        };
        key(a).cmp(&key(b)).then_with(|| names(a).cmp(&names(b)))
    });
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    if entries.is_empty() {
        metadata.remove("managedFields");
    } else {
        let entries = entries.into_iter().map(Entry::to_value).collect();
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

pub(super) fn raw_entries(object: &Value) -> Option<&Vec<Value>> {
    object.get("metadata")?.get("managedFields")?.as_array()
}

/// Removes `metadata.managedFields` from an object and returns it.
pub(super) fn remove(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// The Unix time of an RFC 3339 timestamp in UTC; 0 if it is invalid.
fn unix_seconds(time: &str) -> i64 {
    let number =
        |from: usize, to: usize| time.get(from..to).and_then(|part| part.parse::<i64>().ok());
    let parts = (
        number(0, 4),
        number(5, 7),
        number(8, 10),
        number(11, 13),
        number(14, 16),
        number(17, 19),
    );
    let (Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)) = parts else {
        return 0;
    };
    // Counts days in years that start in March, so that the leap day is the last day of its year.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days =
        365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day
            - 1;
    (days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second
}

/// Beyond this number, the oldest update managers are merged.
const MAX_UPDATE_MANAGERS: usize = 10;

/// `capUpdateManagers`: merges the oldest update managers of each version into one entry if there are too many.
pub(super) fn cap_update_managers(managed: &mut ManagedFields) {
    let updaters = managed
        .iter()
        .filter(|(_, entry)| entry.operation == Operation::Update);
    let mut updaters: Vec<_> = updaters
        .map(|(id, entry)| (entry.unix_time(), id.clone()))
        .collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATE_MANAGERS {
        return;
    }
    updaters.sort();
    let mut oldest_of_version: BTreeMap<String, String> = BTreeMap::new();
    for (_, id) in updaters {
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let Some(version) = managed.get(&id).map(|entry| entry.api_version.clone()) else {
            continue;
        };
        let Some(first) = oldest_of_version.get(&version) else {
            oldest_of_version.insert(version, id);
            continue;
        };
        let mut bucket = Entry {
            manager: "ancient-changes".to_owned(),
            operation: Operation::Update,
            api_version: version,
            subresource: String::new(),
            time: None,
            fields: Set::new(),
        };
        let bucket_id = bucket.identifier();
        if let Some(first) = managed.remove(&bucket_id).or_else(|| managed.remove(first)) {
            bucket.fields = first.fields;
            bucket.time = first.time;
        }
        if let Some(merged) = managed.remove(&id) {
            bucket.fields = merged.fields.union(&bucket.fields);
            bucket.time = merged.time;
        }
        count -= 1;
        managed.insert(bucket_id, bucket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_timestamps() {
        assert_eq!(unix_seconds("1970-01-01T00:00:00Z"), 0);
        assert_eq!(unix_seconds("2024-02-29T12:34:56Z"), 1_709_210_096);
        assert_eq!(unix_seconds("2026-11-15T22:24:44Z"), 1_794_781_484);
        assert_eq!(unix_seconds("soon"), 0);
    }
}
