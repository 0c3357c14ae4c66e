//! The recordings of `structural`: server-side apply, patches, schemas, decoding.

use serde_json::{Value, json};

use crate::file::Files;
use crate::mask::sort_causes;
use crate::resources::{
    DEFINITIONS, Resources, create_definition, definition, items, text, wait_until_served,
};
use crate::server::Server;

mod kinds;
mod rules;
mod steps;

const FOLDER: &str = "crates/structural/tests/data";

pub(crate) async fn record(files: &Files) -> anyhow::Result<()> {
    for name in ["ssa", "random", "patch", "validation", "scale"] {
        let path = format!("{FOLDER}/{name}.json");
        if files.selects(&path) {
            steps::record(files, &path).await?;
        }
    }
    decode(files).await?;
    definitions(files).await?;
    rules::record(files).await?;
    kinds::record(files).await
}

/// Starts a server with the kinds of `schemas.json`.
async fn server_with_schemas(files: &Files) -> anyhow::Result<Server> {
    let server = Server::with_namespaces(&["default"]).await?;
    let schemas = files.json(&format!("{FOLDER}/schemas.json"))?;
    for (kind, versions) in schemas.as_object().into_iter().flatten() {
        let versions = versions.as_object().into_iter().flatten();
        let versions = versions.enumerate().map(|(index, (name, schema))| {
            let mut subresources = json!({"status": {}});
            if kind == "Widget" {
                subresources["scale"] = json!({
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                });
            }
            json!({
                "name": name.rsplit('/').next(), "served": true, "storage": index == 0,
                "schema": {"openAPIV3Schema": schema}, "subresources": subresources,
            })
        });
        let definition = definition(kind, &versions.collect());
        create_definition(&server, &definition).await?;
        wait_until_served(&server, &definition).await?;
    }
    Ok(server)
}

/// Records which bodies a server can decode.
async fn decode(files: &Files) -> anyhow::Result<()> {
    let path = format!("{FOLDER}/decode.json");
    if !files.selects(&path) {
        return Ok(());
    }
    let server = server_with_schemas(files).await?;
    let resources = Resources::discover(&server).await?;
    let mut recorded = Vec::new();
    for case in items(&files.json(&path)?) {
        let kind = (text(&case["apiVersion"]), text(&case["kind"]));
        let mut uri = resources.collection(kind.0, kind.1, "default")?;
        uri.push_str("?dryRun=All");
        if let Some(validation) = case["validation"].as_str() {
            uri.push_str(&format!("&fieldValidation={validation}"));
        }
        let body = text(&case["raw"]).to_owned();
        let answer = server
            .write(http::Method::POST, &uri, "application/json", body)
            .await?;
        let mut case = case.clone();
        let fields = case.as_object_mut().into_iter();
        fields.for_each(|case| case.retain(|name, _| name != "message" && name != "warnings"));
        case["code"] = answer.code().into();
        if !answer.status.is_success() {
            case["message"] = answer.json()?["message"].take();
        }
        let warnings = answer.warnings();
        if !warnings.is_empty() {
            case["warnings"] = json!(warnings);
        }
        recorded.push(case);
    }
    files.write_array(&path, &recorded)
}

/// Records which schemas of custom resource definitions a server accepts.
async fn definitions(files: &Files) -> anyhow::Result<()> {
    let path = format!("{FOLDER}/definitions.json");
    if !files.selects(&path) {
        return Ok(());
    }
    let server = Server::start().await?;
    let mut recorded = Vec::new();
    for case in items(&files.json(&path)?) {
        let subresources = if case["status"] == true {
            json!({"status": {}})
        } else {
            json!({})
        };
        let version = json!({
            "name": "v1", "served": true, "storage": true, "subresources": subresources,
            "schema": {"openAPIV3Schema": case["schema"]},
        });
        let definition = definition("Probe", &json!([version]));
        let uri = format!("{DEFINITIONS}?dryRun=All");
        let answer = server.post(&uri, &definition).await?;
        let mut status = answer.json()?;
        sort_causes(&mut status);
        let mut case = case.clone();
        case["code"] = answer.code().into();
        case["causes"] = match status["details"]["causes"].take() {
            Value::Null => json!([]),
            causes => causes,
        };
        recorded.push(case);
    }
    files.write_array(&path, &recorded)
}
