//! The objects of the load: config maps with one value each.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::client::{Answer, Client};

pub(super) const PATH: &str = "/api/v1/namespaces/default/configmaps";
pub(super) const MARKER: &str = "marker";

/// Value and revision of each name.
pub(super) type Contents = BTreeMap<String, (String, u64)>;

/// One object: its name, value and revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) revision: u64,
}

pub(super) fn parse(object: &Value) -> anyhow::Result<Object> {
    let name = object["metadata"]["name"].as_str().context("no name")?;
    Ok(Object {
        name: name.to_owned(),
        value: object["data"]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        revision: revision(object)?,
    })
}

pub(super) fn revision(object: &Value) -> anyhow::Result<u64> {
    let revision = object["metadata"]["resourceVersion"].as_str();
    Ok(revision.context("no resourceVersion")?.parse()?)
}

/// Whether an object belongs to the load.
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with("load-")
}

pub(super) async fn list(client: &Client) -> anyhow::Result<(Contents, u64)> {
    let answer = client.get(PATH).await?;
    if answer.status != 200 {
        bail!("LIST answers {}", answer.status);
    }
    let list: Value = serde_json::from_slice(&answer.body)?;
    let mut contents = Contents::new();
    for item in list["items"].as_array().context("no items")? {
        let object = parse(item)?;
        if is_ours(&object.name) {
            contents.insert(object.name, (object.value, object.revision));
        }
    }
    Ok((contents, revision(&list)?))
}

pub(super) async fn create(client: &Client, name: &str, value: &str) -> anyhow::Result<Answer> {
    client.post(PATH, body(name, value)).await
}

pub(super) async fn replace(client: &Client, name: &str, value: &str) -> anyhow::Result<Answer> {
    let request = client
        .request("PUT", &format!("{PATH}/{name}"))
        .header("content-type", "application/json")
        .body(Full::new(body(name, value).into()))?;
    client.send(request).await
}

pub(super) async fn delete(client: &Client, name: &str) -> anyhow::Result<Answer> {
    let request = client.request("DELETE", &format!("{PATH}/{name}"));
    client.send(request.body(Full::default())?).await
}

/// Writes the marker, which is the newest change then, and gives its revision.
pub(super) async fn mark(client: &Client, round: usize) -> anyhow::Result<u64> {
    let value = format!("round {round} {}", fastrand::u64(..));
    let mut answer = replace(client, MARKER, &value).await?;
    if answer.status == 404 {
        answer = create(client, MARKER, &value).await?;
    }
    if !answer.status.is_success() {
        bail!("the marker cannot be written: {}", answer.status);
    }
    revision(&serde_json::from_slice(&answer.body)?)
}

fn body(name: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}})
        .to_string()
}
