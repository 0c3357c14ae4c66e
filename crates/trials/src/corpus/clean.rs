//! Puts a cluster back to what it was.

use std::time::Instant;

use anyhow::{Context as _, ensure};
use kube::Client;
use serde_json::{Value, json};

use super::{Lab, REST_WITHIN};
use crate::snapshot;

/// Removes all that was not there in the beginning.
pub(super) async fn clean(lab: &Lab) -> anyhow::Result<()> {
    let deadline = Instant::now() + REST_WITHIN;
    loop {
        let rest = snapshot::now(&lab.client).await?.without(&lab.base);
        if rest.0.is_empty() {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "not gone: {:?}",
            rest.0.keys().collect::<Vec<_>>()
        );
        let mut paths: Vec<(bool, String, Value)> = rest.0.into_iter().map(place).collect();
        // Those first that would stand in the way of the others.
        paths.sort_by_key(|(is_in_the_way, ..)| !is_in_the_way);
        for (_, path, object) in paths {
            delete(&lab.client, &path, &object).await?;
        }
    }
}

/// Whether an object can refuse requests for others, and its path.
fn place((key, object): (snapshot::Key, Value)) -> (bool, String, Value) {
    let mut parts = key.split('/');
    let mut next = || parts.next().unwrap_or_default().to_owned();
    let (kind, namespace, name) = (next(), next(), next());
    let plural = kind.split('.').next().unwrap_or_default();
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let root = if version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    let path = match namespace.as_str() {
        "" => format!("{root}/{version}/{plural}/{name}"),
        namespace => format!("{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
    };
    let is_in_the_way = plural.contains("webhook") || plural == "apiservices";
    (is_in_the_way || plural.contains("polic"), path, object)
}

async fn delete(client: &Client, path: &str, object: &Value) -> anyhow::Result<()> {
    // Nobody is there who would do what a finalizer of a chart waits for.
    let is_definition = object["kind"] == "CustomResourceDefinition";
    if object["metadata"]["finalizers"].is_array() && !is_definition {
        let patch = json!({"metadata": {"finalizers": null}}).to_string();
        let request = http::Request::patch(path)
            .header("content-type", "application/merge-patch+json")
            .body(patch.into_bytes())?;
        let _ = client.request_text(request).await;
    }
    let options = json!({"propagationPolicy": "Background", "gracePeriodSeconds": 0});
    let request = http::Request::delete(path)
        .header("content-type", "application/json")
        .body(options.to_string().into_bytes())?;
    match client.request_text(request).await {
        Err(kube::Error::Api(status)) if ![404, 409, 503].contains(&status.code) => {
            Err(kube::Error::Api(status)).with_context(|| format!("failed to delete {path}"))
        }
        Err(kube::Error::Api(_)) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
