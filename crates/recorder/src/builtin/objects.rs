//! Brings objects of a recording into a server and out of it.

use std::time::Duration;

use anyhow::{Context as _, bail};
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::mask::request_of;
use crate::resources::{Resources, text};
use crate::server::Server;

/// Creates an object with its status unless it exists, and deletes it if it is terminating. Returns it as the server
/// has it.
pub(super) async fn restore(
    server: &Server,
    resources: &Resources,
    object: &Value,
    namespace: &str,
) -> anyhow::Result<Value> {
    let collection = resources.collection_of(object, namespace)?;
    let path = format!("{collection}/{}", text(&object["metadata"]["name"]));
    let existing = server.get(&path).await?;
    let mut current = if existing.status.is_success() {
        existing.json()?
    } else {
        server.create(&collection, &request(object)).await?
    };
    if object["kind"] == "Namespace" && object["status"]["phase"] == "Terminating" {
        server.delete(&path).await?.object()?;
        return server.get(&path).await?.object();
    }
    let status = object.get("status").filter(|status| !is_empty(status));
    if let Some(status) = status {
        update_status(server, &path, &mut current, status).await?;
    }
    if let Some(period) = object["metadata"]["deletionGracePeriodSeconds"].as_u64() {
        let uri = format!("{path}?gracePeriodSeconds={period}");
        server.delete(&uri).await?.object()?;
    }
    server.get(&path).await?.object()
}

/// Retries on conflicts: the server updates the status of some objects itself.
async fn update_status(
    server: &Server,
    path: &str,
    current: &mut Value,
    status: &Value,
) -> anyhow::Result<()> {
    while current["status"] != *status {
        current["status"] = status.clone();
        let answer = server.put(&format!("{path}/status"), current).await?;
        if answer.code() == 404 || answer.status.is_success() {
            break;
        }
        if answer.code() != 409 {
            let updated = answer.object();
            updated.with_context(|| format!("failed to update the status of {path}"))?;
        }
        *current = server.get(path).await?.object()?;
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// The request that creates an object: without its status and what the server generates.
pub(super) fn request(object: &Value) -> Value {
    let mut request = request_of(object);
    if object["kind"] == "Job" && object["spec"]["manualSelector"] != true {
        if let Some(spec) = request["spec"].as_object_mut() {
            spec.remove("selector");
        }
        for path in ["/metadata/labels", "/spec/template/metadata/labels"] {
            if let Some(Value::Object(labels)) = request.pointer_mut(path) {
                labels.retain(|name, _| !name.ends_with("controller-uid"));
                labels.retain(|name, _| !name.ends_with("job-name"));
            }
        }
    }
    request
}

/// Deletes an object and its finalizers, and waits until it is gone.
pub(super) async fn remove(server: &Server, path: &str) -> anyhow::Result<()> {
    let options = "gracePeriodSeconds=0&propagationPolicy=Background";
    server.delete(&format!("{path}?{options}")).await?;
    for _ in 0..100 {
        let answer = server.get(path).await?;
        if answer.code() == 404 {
            return Ok(());
        }
        let mut object = answer.object()?;
        if object["kind"] == "Namespace" {
            object["spec"]["finalizers"] = json!([]);
            server.put(&format!("{path}/finalize"), &object).await?;
        }
        let patch = json!({"metadata": {"finalizers": null}}).to_string();
        let content_type = "application/merge-patch+json";
        server
            .write(Method::PATCH, path, content_type, patch)
            .await?;
        sleep(Duration::from_millis(20)).await;
    }
    bail!("failed to delete {path}")
}
