//! A snapshot of all objects in a cluster, without volatile fields, so that two installations can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::core::Request;
use serde_json::{Value, json};

/// Resources that the server and its controllers change all the time.
const VOLATILE: &[&str] = &["endpoints", "endpointslices", "events", "leases"];
/// The API group of plugins, which are not part of an installation.
const PLUGIN_GROUP: &str = "outrigger.dev";
/// Replaces a value that differs between two installations by Helm.
const RANDOM: &str = "\u{0}random";

const CONCURRENT_LISTS: usize = 8;

/// `plural.group/namespace/name`
pub(super) type Key = String;

/// Objects by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Snapshot(pub(super) BTreeMap<Key, Value>);

/// Takes snapshots until two in a row are equal and no object is being deleted.
pub(super) async fn take_stable(client: &Client, within: Duration) -> anyhow::Result<Snapshot> {
    const POLL: Duration = Duration::from_millis(200);
    let deadline = Instant::now() + within;
    let mut previous = None;
    loop {
        let found = take(client).await?;
        let deleting = found.0.values().find(|object| is_deleting(object));
        if deleting.is_none() && previous.as_ref() == Some(&found) {
            return Ok(found);
        }
        if Instant::now() > deadline {
            let name = deleting.map_or(Value::Null, |object| object["metadata"]["name"].clone());
            bail!("the cluster does not become stable; object being deleted: {name}");
        }
        previous = Some(found);
        tokio::time::sleep(POLL).await;
    }
}

fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Takes a snapshot of all objects without an owner.
pub(super) async fn take(client: &Client) -> anyhow::Result<Snapshot> {
    let resources = resources(client).await?;
    let lists = resources.into_iter().map(|resource| list(client, resource));
    let lists = stream::iter(lists).buffer_unordered(CONCURRENT_LISTS);
    let lists: Vec<Vec<(Key, Value)>> = lists.try_collect().await?;
    Ok(Snapshot(lists.into_iter().flatten().collect()))
}

async fn list(client: &Client, resource: Resource) -> anyhow::Result<Vec<(Key, Value)>> {
    let Resource {
        plural,
        group,
        path,
    } = resource;
    let request = Request::new(path).list(&kube::api::ListParams::default())?;
    let mut list = match client.request::<Value>(request).await {
        Ok(list) => list,
        // The CRD was deleted, or the server of an aggregated API does not run.
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
    let without_owner = items
        .into_iter()
        .filter(|item| !item["metadata"]["ownerReferences"].is_array());
    let objects = without_owner.map(|item| {
        let text = |name: &str| item["metadata"][name].as_str().unwrap_or_default();
        let key = format!("{plural}.{group}/{}/{}", text("namespace"), text("name"));
        let mut object = masked(item);
        object["apiVersion"] = version.clone();
        object["kind"] = kind.into();
        (key, object)
    });
    Ok(objects.collect())
}

/// A resource that can be listed.
struct Resource {
    plural: String,
    group: String,
    path: String,
}

async fn resources(client: &Client) -> anyhow::Result<Vec<Resource>> {
    let core = client.list_core_api_versions_aggregated().await?;
    let groups = client.list_api_groups_aggregated().await?;
    let mut resources = Vec::new();
    for group in core.items.into_iter().chain(groups.items) {
        let name = group.metadata.and_then(|meta| meta.name);
        let name = name.unwrap_or_default();
        let Some(preferred) = group
            .versions
            .into_iter()
            .next()
            .filter(|_| name != PLUGIN_GROUP)
        else {
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
            if can("list") && can("delete") && !VOLATILE.contains(&plural.as_str()) {
                resources.push(Resource {
                    path: format!("{root}/{plural}"),
                    plural,
                    group: name.clone(),
                });
            }
        }
    }
    Ok(resources)
}

/// Removes fields that differ for each object, and the managed fields of other managers than Helm.
fn masked(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return object;
    };
    for name in ["uid", "resourceVersion", "creationTimestamp"] {
        metadata.remove(name);
    }
    if let Some(Value::Array(managers)) = metadata.get_mut("managedFields") {
        managers.retain(|manager| manager["manager"] == "helm");
        for manager in managers {
            manager["time"] = Value::Null;
        }
    }
    object
}

impl Snapshot {
    /// The objects whose keys are not in the other snapshot.
    pub(super) fn without(mut self, other: &Self) -> Self {
        self.0.retain(|key, _| !other.0.contains_key(key));
        self
    }

    /// Removes release records, which depend on the program that wrote them.
    pub(super) fn without_release_records(mut self) -> Self {
        self.0
            .retain(|_, object| object["type"] != "helm.sh/release.v1");
        self
    }

    /// The objects of both snapshots; values that differ are marked as random.
    pub(super) fn common(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(key, one)| {
            let other = other.0.get(key)?;
            Some((key.clone(), common(one, other)))
        });
        Self(both.collect())
    }

    /// Like [`Self::differences`], but objects may be missing: Helm does not delete the objects of hooks.
    pub(super) fn excess(&self, all: &Self, found: &Self) -> Vec<String> {
        let mut expected = self.clone();
        let mut all = all.clone();
        expected.0.retain(|key, _| found.0.contains_key(key));
        all.0
            .retain(|key, _| found.0.contains_key(key) || !self.0.contains_key(key));
        let mut excess = expected.differences(&all, found);
        excess.retain(|text| !text.ends_with("are missing"));
        excess
    }

    /// Compares another installation with this one, the expected one. Objects that are only in `all` have random names:
    /// they are counted, not compared.
    pub(super) fn differences(&self, all: &Self, found: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut expected_random = BTreeMap::<&str, i64>::new();
        let prefix = |key: &'_ str| key.rfind('/').unwrap_or(0);
        for key in all.0.keys().filter(|key| !self.0.contains_key(*key)) {
            *expected_random.entry(&key[..prefix(key)]).or_default() += 1;
        }
        let keys: BTreeSet<&Key> = self.0.keys().chain(found.0.keys()).collect();
        for key in keys {
            match (self.0.get(key), found.0.get(key)) {
                (Some(expected), Some(found)) => {
                    differences.extend(difference(key, expected, found));
                }
                (Some(_), None) => differences.push(format!("{key} is missing")),
                _ => match expected_random.get_mut(&key[..prefix(key)]) {
                    Some(count) if *count > 0 => *count -= 1,
                    _ => differences.push(format!("{key} is unexpected")),
                },
            }
        }
        let missing = expected_random.iter().filter(|(_, count)| **count > 0);
        differences.extend(missing.map(|(kind, count)| format!("{kind}: {count} are missing")));
        differences
    }
}

/// Replaces the parts of a value that differ from another one by [`RANDOM`].
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

/// The first difference between two values.
fn difference(path: &str, expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::String(text), _) if text == RANDOM => None,
        (Value::Object(expected), Value::Object(found)) => {
            let keys: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
            keys.into_iter().find_map(|key| {
                let path = format!("{path}.{key}");
                let null = &Value::Null;
                if expected.contains_key(key) != found.contains_key(key) {
                    let whose = if found.contains_key(key) {
                        "ours"
                    } else {
                        "Helm's"
                    };
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
            pairs.find_map(|(index, (one, other))| {
                difference(&format!("{path}[{index}]"), one, other)
            })
        }
        (expected, found) if expected == found => None,
        _ => Some(format!(
            "{path}: {} by Helm, {} by us",
            truncated(expected),
            truncated(found)
        )),
    }
}

fn truncated(value: &Value) -> String {
    const MAX_CHARS: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(MAX_CHARS) {
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
    fn compares_everything_except_random_values() {
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
                "b./x/r3 is unexpected",
                "a./x: 1 are missing"
            ]
        );
    }
}
