//! The entries of `metadata.managedFields`: who owns which fields since when.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::set::Set;
use super::set_json;
use crate::schema::{go_json, go_quote};

/// How a manager came to own fields.
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

/// What one manager owns.
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
    /// What makes two entries the same. Whoever applies has one entry for all versions.
    pub(super) fn identity(&self) -> String {
        let mut identity = Vec::new();
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                identity.push(format!(
                    "\"{name}\":{}",
                    go_json(&Value::String(value.to_owned()))
                ));
            }
        };
        add("manager", &self.manager);
        add("operation", self.operation.name());
        if self.operation == Operation::Update {
            add("apiVersion", &self.api_version);
        }
        add("subresource", &self.subresource);
        format!("{{{}}}", identity.join(","))
    }

    /// The manager as conflicts name it.
    pub(super) fn title(&self) -> String {
        let mut title = go_quote(&self.manager);
        if !self.subresource.is_empty() {
            title.push_str(&format!(
                " with subresource {}",
                go_quote(&self.subresource)
            ));
        }
        if self.operation == Operation::Update {
            title.push_str(&format!(" using {}", self.api_version));
        }
        title
    }

    fn seconds(&self) -> i64 {
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

    fn from_value(value: &Value, place: usize) -> Result<Self, String> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => {
                return Err(format!(
                    "missing fieldsType in managed fields entry {place}"
                ));
            }
            other => {
                let other = go_quote(other);
                return Err(format!(
                    "invalid fieldsType {other} in managed fields entry {place}"
                ));
            }
        }
        let fields = value
            .get("fieldsV1")
            .map_or_else(|| Ok(Set::new()), Set::from_value);
        let fields = fields.map_err(|error: set_json::DecodeError| {
            format!("error decoding versioned set: error decoding set: {error}")
        })?;
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

/// All entries of an object, by identity.
pub(super) type Managed = BTreeMap<String, Entry>;

/// Reads `metadata.managedFields` of an object.
pub(super) fn read(object: Option<&Value>) -> Result<Managed, String> {
    let entries = object.and_then(entries_of).map_or(&[][..], Vec::as_slice);
    let entries = entries.iter().enumerate();
    entries
        .map(|(place, entry)| {
            let entry = Entry::from_value(entry, place)?;
            Ok((entry.identity(), entry))
        })
        .collect()
}

/// Writes `metadata.managedFields` into an object: applies before updates, old before new.
pub(super) fn write(object: &mut Value, managed: &Managed) {
    let mut entries: Vec<&Entry> = managed.values().collect();
    entries.sort_by(|a, b| {
        let key = |entry: &Entry| (entry.operation, entry.seconds());
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

pub(super) fn entries_of(object: &Value) -> Option<&Vec<Value>> {
    object.get("metadata")?.get("managedFields")?.as_array()
}

/// Takes `metadata.managedFields` out of an object.
pub(super) fn strip(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Seconds since 1970 of a time like `2024-05-01T12:00:00Z`; 0 if it is none.
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
    // Days before a date, counted from March so that the leap day is the last of its year.
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

/// At most this many updaters have entries of their own.
const MAX_UPDATERS: usize = 10;

/// Merges the oldest updaters of each version into one entry if there are too many.
pub(super) fn cap_updaters(managed: &mut Managed) {
    let updaters = managed
        .iter()
        .filter(|(_, entry)| entry.operation == Operation::Update);
    let mut updaters: Vec<_> = updaters
        .map(|(id, entry)| (entry.seconds(), id.clone()))
        .collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATERS {
        return;
    }
    updaters.sort();
    let mut first_of_version: BTreeMap<String, String> = BTreeMap::new();
    for (_, id) in updaters {
        if count <= MAX_UPDATERS {
            return;
        }
        let Some(version) = managed.get(&id).map(|entry| entry.api_version.clone()) else {
            continue;
        };
        let Some(first) = first_of_version.get(&version) else {
            first_of_version.insert(version, id);
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
        let bucket_id = bucket.identity();
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
    fn times_are_read_to_the_second() {
        assert_eq!(unix_seconds("1970-01-01T00:00:00Z"), 0);
        assert_eq!(unix_seconds("2024-02-29T12:34:56Z"), 1_709_210_096);
        assert_eq!(unix_seconds("2026-11-15T22:24:44Z"), 1_794_781_484);
        assert_eq!(unix_seconds("soon"), 0);
    }
}
