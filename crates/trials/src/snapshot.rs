//! All objects of a cluster, without what changes by itself, so that two installations can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::core::Request;
use serde_json::{Value, json};

/// Made and changed by the server and its controllers all the time.
const RESTLESS: &[&str] = &["endpoints", "endpointslices", "events", "leases"];
/// Our own kinds are not part of an installation.
const OURS: &str = "outrigger.dev";
/// What stands in place of a value that Helm itself makes anew each time.
const RANDOM: &str = "\u{0}random";

/// Lists at a time.
const AT_ONCE: usize = 8;

/// An object's place: `plural.group/namespace/name`.
pub(crate) type Key = String;

/// Objects by their places.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Snapshot(pub(crate) BTreeMap<Key, Value>);

/// Looks until two looks in a row are the same and nothing is on its way out.
pub(crate) async fn settled(client: &Client, within: Duration) -> anyhow::Result<Snapshot> {
    const STEP: Duration = Duration::from_millis(200);
    let deadline = Instant::now() + within;
    let mut before = None;
    loop {
        let found = now(client).await?;
        let going = found.0.values().find(|object| is_going(object));
        if going.is_none() && before.as_ref() == Some(&found) {
            return Ok(found);
        }
        if Instant::now() > deadline {
            let going = going.map_or(Value::Null, |going| going["metadata"]["name"].clone());
            bail!("the cluster does not come to rest; going: {going}");
        }
        before = Some(found);
        // There is no event for "nothing happens".
        tokio::time::sleep(STEP).await;
    }
}

fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// All objects that nobody made on behalf of another one.
pub(crate) async fn now(client: &Client) -> anyhow::Result<Snapshot> {
    let places = places(client).await?;
    let lists = places.into_iter().map(|place| list(client, place));
    let lists = stream::iter(lists).buffer_unordered(AT_ONCE);
    let lists: Vec<Vec<(Key, Value)>> = lists.try_collect().await?;
    Ok(Snapshot(lists.into_iter().flatten().collect()))
}

async fn list(client: &Client, place: Place) -> anyhow::Result<Vec<(Key, Value)>> {
    let (plural, group, path) = place;
    let request = Request::new(path).list(&kube::api::ListParams::default())?;
    let mut list = match client.request::<Value>(request).await {
        Ok(list) => list,
        // The kind went, or what should serve it does not run.
        Err(kube::Error::Api(status)) if [404, 405, 503].contains(&status.code) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error).with_context(|| format!("failed to list {plural}")),
    };
    let Value::Array(items) = list["items"].take() else {
        return Ok(Vec::new());
    };
    let (version, kind) = (&list["apiVersion"], &list["kind"]);
    let kind = kind.as_str().unwrap_or_default().trim_end_matches("List");
    let alone = items
        .into_iter()
        .filter(|item| !item["metadata"]["ownerReferences"].is_array());
    let objects = alone.map(|item| {
        let text = |name: &str| item["metadata"][name].as_str().unwrap_or_default();
        let key = format!("{plural}.{group}/{}/{}", text("namespace"), text("name"));
        let mut object = masked(item);
        object["apiVersion"] = version.clone();
        object["kind"] = kind.into();
        (key, object)
    });
    Ok(objects.collect())
}

/// What can be listed: plural, group, path.
type Place = (String, String, String);

async fn places(client: &Client) -> anyhow::Result<Vec<Place>> {
    let core = client.list_core_api_versions_aggregated().await?;
    let groups = client.list_api_groups_aggregated().await?;
    let mut places = Vec::new();
    for group in core.items.into_iter().chain(groups.items) {
        let name = group.metadata.and_then(|meta| meta.name);
        let name = name.unwrap_or_default();
        let Some(preferred) = group.versions.into_iter().next().filter(|_| name != OURS) else {
            continue;
        };
        let version = preferred.version.unwrap_or_default();
        let root = match name.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        for resource in preferred.resources {
            let plural = resource.resource.unwrap_or_default();
            let can = |verb: &str| resource.verbs.iter().any(|known| known == verb);
            if can("list") && can("delete") && !RESTLESS.contains(&plural.as_str()) {
                places.push((plural.clone(), name.clone(), format!("{root}/{plural}")));
            }
        }
    }
    Ok(places)
}

/// Without what differs each time an object is made, and what others than Helm own.
fn masked(mut object: Value) -> Value {
    if let Some(whole) = object.as_object_mut() {
        whole.remove("status");
    }
    let Some(meta) = object["metadata"].as_object_mut() else {
        return object;
    };
    for name in ["uid", "resourceVersion", "creationTimestamp"] {
        meta.remove(name);
    }
    if let Some(Value::Array(managers)) = meta.get_mut("managedFields") {
        managers.retain(|manager| manager["manager"] == "helm");
        for manager in managers {
            manager["time"] = Value::Null;
        }
    }
    object
}

impl Snapshot {
    /// What is in this one and not in the other.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        self.0.retain(|key, _| !other.0.contains_key(key));
        self
    }

    /// Records of releases tell of the program that wrote them; they are compared elsewhere.
    pub(crate) fn without_records(mut self) -> Self {
        self.0
            .retain(|_, object| object["type"] != "helm.sh/release.v1");
        self
    }

    /// What two installations of one chart have in common; the rest is made anew each time.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(key, one)| {
            let other = other.0.get(key)?;
            Some((key.clone(), common(one, other)))
        });
        Self(both.collect())
    }

    /// What is here and should not be, or is not as it was. What is missing is no matter: Helm leaves objects of hooks
    /// behind.
    pub(crate) fn remains(&self, all: &Self, found: &Self) -> Vec<String> {
        let mut rest = self.clone();
        let mut all = all.clone();
        rest.0.retain(|key, _| found.0.contains_key(key));
        all.0
            .retain(|key, _| found.0.contains_key(key) || !self.0.contains_key(key));
        let mut remains = rest.differences(&all, found);
        remains.retain(|text| !text.ends_with("are missing"));
        remains
    }

    /// Where another installation differs from what is expected; objects with a name that is made anew each time are
    /// only counted.
    pub(crate) fn differences(&self, all: &Self, found: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut expected_others = BTreeMap::<&str, i64>::new();
        let kind = |key: &'_ str| key.rfind('/').map_or(0, |at| at);
        for key in all.0.keys().filter(|key| !self.0.contains_key(*key)) {
            *expected_others.entry(&key[..kind(key)]).or_default() += 1;
        }
        let keys: BTreeSet<&Key> = self.0.keys().chain(found.0.keys()).collect();
        for key in keys {
            match (self.0.get(key), found.0.get(key)) {
                (Some(expected), Some(found)) => {
                    differences.extend(difference(key, expected, found));
                }
                (Some(_), None) => differences.push(format!("{key} is missing")),
                _ => match expected_others.get_mut(&key[..kind(key)]) {
                    Some(count) if *count > 0 => *count -= 1,
                    _ => differences.push(format!("{key} is too much")),
                },
            }
        }
        let missing = expected_others.iter().filter(|(_, count)| **count > 0);
        differences.extend(missing.map(|(kind, count)| format!("{kind}: {count} are missing")));
        differences
    }
}

/// A value with what differs in another one marked.
fn common(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => one
            .iter()
            .map(|(key, value)| (key.clone(), common(value, &other[key])))
            .collect(),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).map(|(a, b)| common(a, b)).collect()
        }
        (one, other) if one == other => one.clone(),
        _ => json!(RANDOM),
    }
}

/// The first place where a value is not as expected.
fn difference(path: &str, expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::String(text), _) if text == RANDOM => None,
        (Value::Object(expected), Value::Object(found)) => {
            let keys: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
            keys.into_iter().find_map(|key| {
                let path = format!("{path}.{key}");
                let null = &Value::Null;
                let side = |map: &'_ serde_json::Map<String, Value>| map.get(key).is_some();
                if side(expected) != side(found) {
                    let whose = if side(found) { "ours" } else { "Helm's" };
                    return Some(format!("{path} is only {whose}"));
                }
                difference(
                    &path,
                    expected.get(key).unwrap_or(null),
                    found.get(key).unwrap_or(null),
                )
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(at, (one, other))| difference(&format!("{path}[{at}]"), one, other))
        }
        (expected, found) if expected == found => None,
        _ => Some(format!(
            "{path}: {} by Helm, {} by us",
            short(expected),
            short(found)
        )),
    }
}

fn short(value: &Value) -> String {
    const LONGEST: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(objects: &[(&str, Value)]) -> Snapshot {
        let objects = objects.iter();
        Snapshot(
            objects
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
        )
    }

    #[test]
    fn what_helm_makes_anew_each_time_is_not_compared_and_all_else_is() {
        let first = snapshot(&[
            ("a./x/one", json!({"key": 1, "word": "a"})),
            ("a./x/r1", json!({})),
        ]);
        let second = snapshot(&[
            ("a./x/one", json!({"key": 2, "word": "a"})),
            ("a./x/r2", json!({})),
        ]);
        let expected = first.common(&second);
        let good = snapshot(&[
            ("a./x/one", json!({"key": 3, "word": "a"})),
            ("a./x/r3", json!({})),
        ]);
        assert!(expected.differences(&first, &good).is_empty());
        let bad = snapshot(&[("a./x/one", json!({"key": 3, "word": "b"}))]);
        assert_eq!(
            expected.differences(&first, &bad),
            [
                r#"a./x/one.word: "a" by Helm, "b" by us"#,
                "a./x: 1 are missing"
            ]
        );
        let more = snapshot(&[("a./x/one", json!({"key": 3})), ("b./x/r3", json!({}))]);
        assert_eq!(
            expected.differences(&first, &more),
            [
                "a./x/one.word is only Helm's",
                "b./x/r3 is too much",
                "a./x: 1 are missing"
            ]
        );
    }
}
