//! Masks values that differ from run to run, such as uids and timestamps. Equal values get equal masks, and resource
//! versions are replaced by their rank, so that relations between values are still compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::order;

const UID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// Masks all responses of one case on one server.
pub(super) fn responses(responses: &mut [Value]) {
    let mut collected = Collected::default();
    for response in &*responses {
        collected.collect(response);
    }
    let mut mask = Mask {
        ranks: rank(&collected.versions),
        generated_names: collected.generated_names,
        seen: BTreeMap::new(),
    };
    for response in responses {
        mask.value("", response);
    }
}

/// Values of all responses that masking depends on.
#[derive(Default)]
struct Collected {
    versions: BTreeSet<u64>,
    /// Generated names with their masks.
    generated_names: Vec<(String, String)>,
}

impl Collected {
    fn collect(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::String(text) => {
                let found = YAML_VERSION.captures_iter(text);
                self.versions
                    .extend(found.filter_map(|found| found[1].parse::<u64>().ok()));
            }
            Value::Object(entries) => {
                self.collect_object(entries);
                if !is_bookmark(entries) {
                    entries.values().for_each(|value| self.collect(value));
                }
            }
            _ => {}
        }
    }

    fn collect_object(&mut self, object: &Map<String, Value>) {
        if !is_collection(object) {
            let version = object.get("metadata").and_then(version);
            self.versions.extend(version);
        }
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        if let (Some(prefix), Some(name)) = (text("generateName"), text("name"))
            && let Some(suffix) = name.strip_prefix(prefix)
            && suffix.len() == 5
        {
            self.generated_names
                .push((name.to_owned(), format!("{prefix}<suffix>")));
        }
    }
}

fn version(metadata: &Value) -> Option<u64> {
    metadata["resourceVersion"].as_str()?.parse().ok()
}

/// A list, a table or a bookmark. Its resource version is that of the store, which concurrent cases write to.
fn is_collection(object: &Map<String, Value>) -> bool {
    let kind = object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    object.contains_key("items") || kind == "Table" || kind.ends_with("List") || is_bookmark(object)
}

fn is_bookmark(event: &Map<String, Value>) -> bool {
    event.get("type").is_some_and(|kind| kind == "BOOKMARK")
}

fn rank(versions: &BTreeSet<u64>) -> BTreeMap<u64, usize> {
    let ranked = versions.iter().enumerate();
    ranked.map(|(rank, version)| (*version, rank + 1)).collect()
}

struct Mask {
    ranks: BTreeMap<u64, usize>,
    generated_names: Vec<(String, String)>,
    /// Masked values with the numbers of their masks.
    seen: BTreeMap<String, usize>,
}

impl Mask {
    fn value(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::Array(items) => {
                for item in items {
                    self.value(key, item);
                }
            }
            Value::Object(entries) => self.object(entries),
            Value::String(text) => *text = self.text(key, text),
            Value::Number(number)
                if matches!(key, "nodePort" | "healthCheckNodePort")
                    && number.as_u64() > Some(0) =>
            {
                *value = self.numbered("port", &number.to_string()).into();
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>) {
        if is_collection(object) {
            mask_version(object);
            if let Some(Value::Object(bookmark)) = object.get_mut("object") {
                mask_version(bookmark);
            }
        }
        mask_ages(object);
        order::object(object);
        // The managed fields of ownerReferences have uids in their keys.
        if object.keys().any(|key| key.starts_with("k:{")) {
            let entries = std::mem::take(object);
            *object = entries
                .into_iter()
                .map(|(key, value)| (self.text("", &key), value))
                .collect();
        }
        for (key, value) in object {
            self.value(key, value);
        }
    }

    fn text(&mut self, key: &str, text: &str) -> String {
        if key == "resourceVersion" {
            return self.version(text);
        }
        if key == "continue" && !text.is_empty() {
            return "<continue>".to_owned();
        }
        let mut text = text.to_owned();
        for (name, mask) in &self.generated_names {
            text = text.replace(name, mask);
        }
        for (name, pattern) in &*PATTERNS {
            text = pattern
                .replace_all(&text, |found: &Captures<'_>| match *name {
                    "uid" | "ip" => self.numbered(name, &found[0]),
                    "version" => found[0].replace(&found[1], &self.version(&found[1])),
                    _ => format!("<{name}>"),
                })
                .into_owned();
        }
        text
    }

    fn version(&self, text: &str) -> String {
        let rank = text
            .parse()
            .ok()
            .and_then(|version| self.ranks.get(&version));
        rank.map_or_else(|| text.to_owned(), |rank| format!("<version {rank}>"))
    }

    /// `<uid 2>` for the second distinct uid.
    fn numbered(&mut self, name: &str, text: &str) -> String {
        let next = 1 + self
            .seen
            .keys()
            .filter(|seen| seen.starts_with(name))
            .count();
        let number = *self.seen.entry(format!("{name} {text}")).or_insert(next);
        format!("<{name} {number}>")
    }
}

fn mask_version(object: &mut Map<String, Value>) {
    if let Some(metadata) = object.get_mut("metadata")
        && version(metadata).is_some()
    {
        metadata["resourceVersion"] = "<version of the store>".into();
    }
}

/// Masks the ages in a table. A later event of a watch has no column definitions: any cell may be an age.
fn mask_ages(table: &mut Map<String, Value>) {
    let columns = match table.get("columnDefinitions") {
        Some(Value::Array(columns)) => columns.clone(),
        _ => Vec::new(),
    };
    let is_age = |index: usize| {
        columns.get(index).is_none_or(|column| {
            let name = column["name"].as_str().unwrap_or_default();
            matches!(name, "Age" | "Last Seen" | "First Seen" | "Duration")
        })
    };
    let rows = table.get_mut("rows").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten() {
        let cells = row["cells"].as_array_mut().into_iter().flatten();
        for (_, cell) in cells.enumerate().filter(|(index, _)| is_age(*index)) {
            if cell.as_str().is_some_and(|cell| AGE.is_match(cell)) {
                *cell = "<age>".into();
            }
        }
    }
}

/// In YAML bodies.
static YAML_VERSION: LazyLock<Regex> = LazyLock::new(|| pattern(r#"resourceVersion: "([0-9]+)""#));

static AGE: LazyLock<Regex> = LazyLock::new(|| pattern("^([0-9]+[smhdy])+$"));

/// Applied in this order.
static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let time = r"20(?:2[6-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}";
    vec![
        ("uid", pattern(UID)),
        ("microtime", pattern(&format!(r"{time}\.[0-9]{{6}}Z"))),
        ("nanotime", pattern(&format!(r"{time}\.[0-9]{{7,9}}Z"))),
        ("time", pattern(&format!("{time}Z"))),
        ("volume", pattern("kube-api-access-[a-z0-9]{5}")),
        ("token", pattern(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")),
        (
            "certificate",
            pattern("(?s)-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?"),
        ),
        ("ip", pattern(r"\b10\.[0-9]+\.[0-9]+\.[0-9]+\b")),
        (
            "version",
            pattern(r"(?i)resource ?version[^0-9{}]{0,30}?([0-9]+)"),
        ),
        (
            "current",
            pattern(r"current: [0-9]+|too old resource version: [0-9]+ \([0-9]+\)"),
        ),
    ]
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns are constants")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masked(value: Value) -> Value {
        let mut case = [value];
        responses(&mut case);
        let [value] = case;
        value
    }

    #[test]
    fn replaces_resource_versions_by_their_ranks() {
        let objects = json!([
            {"metadata": {"resourceVersion": "30"}},
            {"metadata": {"resourceVersion": "4"}},
            {"kind": "XList", "items": [], "metadata": {"resourceVersion": "77"}},
        ]);
        let expected = json!([
            {"metadata": {"resourceVersion": "<version 2>"}},
            {"metadata": {"resourceVersion": "<version 1>"}},
            {"kind": "XList", "items": [], "metadata": {"resourceVersion": "<version of the store>"}},
        ]);
        assert_eq!(masked(objects), expected);
    }

    #[test]
    fn equal_uids_get_equal_masks() {
        let a = "0a0a0a0a-1111-2222-3333-444444444444";
        let b = "0b0b0b0b-1111-2222-3333-444444444444";
        assert_eq!(
            masked(json!([a, format!("{b}, not {a}")])),
            json!(["<uid 1>", "<uid 2>, not <uid 1>"])
        );
    }

    #[test]
    fn masks_generated_names_in_messages() {
        let value =
            json!([{"metadata": {"generateName": "a-", "name": "a-x1y2z"}}, "\"a-x1y2z\" is gone"]);
        let masked = masked(value);
        assert_eq!(masked[1], "\"a-<suffix>\" is gone");
    }

    #[test]
    fn masks_recent_timestamps_only() {
        let value = json!([
            "2026-11-16T01:02:03Z",
            "2026-11-16T01:02:03.123456Z",
            "2020-01-01T00:00:00Z"
        ]);
        assert_eq!(
            masked(value),
            json!(["<time>", "<microtime>", "2020-01-01T00:00:00Z"])
        );
    }
}
