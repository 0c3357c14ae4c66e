//! The objects of the load: each is a ConfigMap with one value.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;

/// A ConfigMap outside the load. Its revision is the newest when it has just been written.
pub(super) const MARKER: &str = "marker";

/// Value and revision by name.
pub(super) type Contents = BTreeMap<String, (String, u64)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) revision: u64,
}

pub(super) fn parse(object: &Value) -> anyhow::Result<Object> {
    let name = object["metadata"]["name"].as_str().context("no name")?;
    let value = object["data"]["value"].as_str().unwrap_or_default();
    Ok(Object {
        name: name.to_owned(),
        value: value.to_owned(),
        revision: revision(object)?,
    })
}

fn revision(object: &Value) -> anyhow::Result<u64> {
    let revision = object["metadata"]["resourceVersion"].as_str();
    Ok(revision.context("no resourceVersion")?.parse()?)
}

/// Whether an object belongs to the load.
pub(super) fn is_load(name: &str) -> bool {
    name.starts_with("load-")
}

/// The objects of the load, and the resource version of the list.
pub(super) async fn list(client: &Client) -> anyhow::Result<(Contents, u64)> {
    let response = client.get(CONFIG_MAPS).await?;
    if response.status() != 200 {
        bail!("LIST returned {}", response.status());
    }
    let list: Value = serde_json::from_slice(response.body())?;
    let mut contents = Contents::new();
    for item in list["items"].as_array().context("no items")? {
        let object = parse(item)?;
        if is_load(&object.name) {
            contents.insert(object.name, (object.value, object.revision));
        }
    }
    Ok((contents, revision(&list)?))
}

pub(super) async fn create(
    client: &Client,
    name: &str,
    value: &str,
) -> anyhow::Result<Response<Bytes>> {
    client.post(CONFIG_MAPS, config_map(name, value)).await
}

pub(super) async fn replace(
    client: &Client,
    name: &str,
    value: &str,
) -> anyhow::Result<Response<Bytes>> {
    let path = format!("{CONFIG_MAPS}/{name}");
    client.put(&path, config_map(name, value)).await
}

pub(super) async fn delete(client: &Client, name: &str) -> anyhow::Result<Response<Bytes>> {
    client.delete(&format!("{CONFIG_MAPS}/{name}")).await
}

/// Writes the marker and returns its revision.
pub(super) async fn write_marker(client: &Client) -> anyhow::Result<u64> {
    let value = fastrand::u64(..).to_string();
    let mut response = replace(client, MARKER, &value).await?;
    if response.status() == 404 {
        response = create(client, MARKER, &value).await?;
    }
    if !response.status().is_success() {
        bail!("failed to write the marker: {}", response.status());
    }
    revision(&serde_json::from_slice(response.body())?)
}

fn config_map(name: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}})
        .to_string()
}
