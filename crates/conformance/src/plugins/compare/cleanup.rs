//! Deletes everything that a chart left in the cluster.

use std::time::Instant;

use anyhow::{Context as _, ensure};
use kube::Client;
use serde_json::{Value, json};

use super::{Environment, STABLE_TIMEOUT, snapshot};

/// Deletes all objects that the new cluster did not have.
pub(super) async fn run(environment: &Environment) -> anyhow::Result<()> {
    let deadline = Instant::now() + STABLE_TIMEOUT;
    loop {
        let snapshot = snapshot::take(&environment.client).await?;
        let added = snapshot.without(&environment.base);
        if added.0.is_empty() {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "not deleted: {:?}",
            added.0.keys().collect::<Vec<_>>()
        );
        let mut targets: Vec<Target> = added.0.into_iter().map(target).collect();
        targets.sort_by_key(|target| !target.can_deny_requests);
        for Target { path, object, .. } in targets {
            delete(&environment.client, &path, &object).await?;
        }
    }
}

/// An object to delete.
struct Target {
    path: String,
    object: Value,
    /// It can deny requests for other objects, and so is deleted first.
    can_deny_requests: bool,
}

fn target((key, object): (snapshot::Key, Value)) -> Target {
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
    let can_deny_requests =
        plural.contains("webhook") || plural.contains("polic") || plural == "apiservices";
    Target {
        path,
        object,
        can_deny_requests,
    }
}

async fn delete(client: &Client, path: &str, object: &Value) -> anyhow::Result<()> {
    // The controllers that would handle the finalizers do not run.
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
