//! One object of each of many built-in kinds, created on one server and applied on another.

use http::Method;
use serde_json::{Value, json};

use crate::file::Files;
use crate::mask::{Mask, drop_metadata};
use crate::resources::{Resources, items, text};
use crate::server::{Answer, Server};

/// The plugin adds a volume to Pods, for which no manager is recorded.
const ADMISSION: &str = "ServiceAccount";

pub(super) async fn record(files: &Files) -> anyhow::Result<()> {
    let path = format!("{}/kinds.json", super::FOLDER);
    if !files.selects(&path) {
        return Ok(());
    }
    let recording = files.json(&path)?;
    let bodies = || items(&recording).map(|case| &case["body"]);
    let server = Server::start_without(ADMISSION).await?;
    let resources = Resources::discover(&server).await?;
    let mut created = Vec::new();
    for body in bodies() {
        let uri = resources.collection_of(body, "default")?;
        let answer = server.post(&format!("{uri}?fieldManager=m"), body).await?;
        created.push(masked(&answer, body)?);
        delete(&server, &uri, body).await?;
    }
    let server = Server::start_without(ADMISSION).await?;
    let mut recorded = Vec::new();
    for (body, created) in bodies().zip(created) {
        let collection = resources.collection_of(body, "default")?;
        let uri = format!(
            "{collection}/{}?fieldManager=m",
            text(&body["metadata"]["name"])
        );
        let patch = "application/apply-patch+yaml";
        let answer = server
            .write(Method::PATCH, &uri, patch, body.to_string())
            .await?;
        delete(&server, &collection, body).await?;
        recorded.push(json!({
            "apiVersion": body["apiVersion"], "kind": body["kind"], "body": body,
            "created": created, "applied": masked(&answer, body)?,
        }));
    }
    files.write_array(&path, &recorded)
}

/// Events of both groups are stored under one name.
async fn delete(server: &Server, collection: &str, body: &Value) -> anyhow::Result<()> {
    let name = text(&body["metadata"]["name"]);
    server.delete(&format!("{collection}/{name}")).await?;
    Ok(())
}

fn masked(answer: &Answer, body: &Value) -> anyhow::Result<Value> {
    let mut object = answer.object()?;
    drop_metadata(&mut object, &["resourceVersion"]);
    Mask::new(body).value(&mut object);
    Ok(object)
}
