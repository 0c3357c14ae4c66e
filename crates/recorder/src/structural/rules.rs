//! Validation rules in CEL: each value is sent as the field `p` of a custom resource.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::file::Files;
use crate::resources::{create_definition, definition, items, text, wait_until_served};
use crate::server::Server;

pub(super) async fn record(files: &Files) -> anyhow::Result<()> {
    let path = format!("{}/rules.json", super::FOLDER);
    if !files.selects(&path) {
        return Ok(());
    }
    let server = Server::with_namespaces(&["default"]).await?;
    let recording = files.json(&path)?;
    let mut kinds = BTreeMap::new();
    for case in items(&recording) {
        let number = kinds.len();
        let kind = kinds.entry(case["schema"].to_string());
        kind.or_insert_with(|| format!("Probe{number}"));
    }
    let definitions: Vec<_> = kinds
        .iter()
        .map(|(schema, kind)| Ok((kind, serde_json::from_str(schema)?)))
        .collect::<anyhow::Result<_>>()?;
    for some in definitions.chunks(8) {
        try_join_all(
            some.iter()
                .map(|(kind, schema)| define(&server, kind, schema)),
        )
        .await?;
    }
    let mut recorded = Vec::new();
    for case in items(&recording) {
        let kind = &kinds[&case["schema"].to_string()];
        let object = json!({
            "apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "probe"},
            "p": case["value"],
        });
        let plural = format!("{}s", kind.to_lowercase());
        let uri = format!("/apis/example.com/v1/namespaces/default/{plural}?dryRun=All");
        let answer = server.post(&uri, &object).await?.json()?;
        let causes = items(&answer["details"]["causes"]);
        let messages: Vec<_> = causes.map(|cause| text(&cause["message"])).collect();
        let mut case = case.clone();
        case["messages"] = json!(messages);
        recorded.push(case);
    }
    files.write_array(&path, &recorded)
}

async fn define(server: &Server, kind: &str, schema: &Value) -> anyhow::Result<()> {
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"p": schema}}},
    });
    let definition = definition(kind, &json!([version]));
    create_definition(server, &definition).await?;
    wait_until_served(server, &definition).await
}
