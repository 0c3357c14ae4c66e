//! The cells that tables show for objects.
//!
//! An object of the recording is created with its status. Its times are moved by the time since the recording, so
//! that ages in cells stay the same; the time of its creation, which the server sets, is replaced by the recorded one.

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::objects::restore;
use super::{FOLDER, server_with_definitions};
use crate::file::Files;
use crate::mask::{Mask, moved};
use crate::resources::{Resources, items, text};
use crate::server::Server;

const NAMESPACE: &str = "tab";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// The columns that show the age of an object.
const AGE: &str = "Age";

pub(super) async fn record(files: &Files) -> anyhow::Result<()> {
    let path = format!("{FOLDER}/tables.jsonl");
    if !files.selects(&path) {
        return Ok(());
    }
    let server = server_with_definitions(files, NAMESPACE).await?;
    let resources = Resources::discover(&server).await?;
    let lines = files.lines(&path)?;
    let (first, cases) = lines.split_first().context("the file is empty")?;
    let mut recorded = vec![first.clone()];
    for case in cases {
        let case = row(&server, &resources, case)
            .await
            .with_context(|| format!("failed to record the row of {}", case["object"]))?;
        recorded.push(case);
    }
    recorded[0] = whole(&server, first).await?;
    files.write_lines(&path, &recorded)
}

/// Records the cells of an object.
async fn row(server: &Server, resources: &Resources, case: &Value) -> anyhow::Result<Value> {
    let object = &case["object"];
    let now: Timestamp = text(&case["now"]).parse()?;
    let mut request = moved(object, Timestamp::now().duration_since(now))?;
    merge(&mut request, &case["hidden"]);
    let created = restore(server, resources, &request, NAMESPACE).await?;
    let collection = resources.collection(text(&case["gv"]), text(&case["kind"]), NAMESPACE)?;
    let path = format!("{collection}/{}", text(&object["metadata"]["name"]));
    let table = server.get_as(&path, TABLE).await?.object()?;
    let row = &table["rows"][0];
    let mut mask = Mask::new(object);
    for name in ["uid", "creationTimestamp"] {
        mask.set(
            text(&created["metadata"][name]),
            text(&object["metadata"][name]),
        );
    }
    let mut cells = row["cells"].clone();
    mask.value(&mut cells);
    set_age(&mut cells, &table["columnDefinitions"], case)?;
    let mut recorded = json!({
        "gv": case["gv"], "kind": case["kind"], "now": case["now"], "object": object, "cells": cells,
    });
    for (name, value) in [
        ("hidden", &case["hidden"]),
        ("conditions", &row["conditions"]),
    ] {
        if !value.is_null() {
            recorded[name] = value.clone();
        }
    }
    if let Some(conditions) = recorded.get_mut("conditions") {
        mask.value(conditions);
    }
    Ok(recorded)
}

/// Adds the fields that no cell shows but the server requires.
fn merge(object: &mut Value, hidden: &Value) {
    let (Value::Object(object), Value::Object(hidden)) = (object, hidden) else {
        return;
    };
    for (name, value) in hidden {
        match object.get_mut(name) {
            Some(inner @ Value::Object(_)) => merge(inner, value),
            _ => {
                object.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Replaces the age of an object by the recorded one.
fn set_age(cells: &mut Value, columns: &Value, case: &Value) -> anyhow::Result<()> {
    let now: Timestamp = text(&case["now"]).parse()?;
    let created = text(&case["object"]["metadata"]["creationTimestamp"]);
    let age = human_duration(now.duration_since(created.parse()?).as_secs());
    let mut names: Vec<_> = items(columns).map(|column| text(&column["name"])).collect();
    // The server does not list the last column of IPAddress.
    names.resize(items(cells).count(), AGE);
    for (index, name) in names.iter().enumerate() {
        if *name == AGE {
            cells[index] = age.clone().into();
        }
    }
    Ok(())
}

/// `duration.HumanDuration` for less than three hours.
fn human_duration(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 if seconds % 60 != 0 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}m", seconds / 60),
    }
}

/// Records the columns of a custom resource, and a whole table of a Deployment.
async fn whole(server: &Server, first: &Value) -> anyhow::Result<Value> {
    let path = format!("/apis/stable.example.com/v1/namespaces/{NAMESPACE}/widgets");
    let widgets = server.get_as(&path, TABLE).await?.object()?;
    let name = text(&first["whole"]["table"]["rows"][0]["cells"][0]);
    let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}");
    let mut table = server.get_as(&path, TABLE).await?.object()?;
    let created = table["rows"][0]["object"]["metadata"]["creationTimestamp"].clone();
    let mut mask = Mask::new(&Value::Null);
    mask.set(text(&created), "2026-01-01T00:00:00Z");
    mask.value(&mut table);
    let now = "2026-01-01T00:00:06Z";
    let case = json!({"now": now, "object": table["rows"][0]["object"]});
    let columns = table["columnDefinitions"].clone();
    set_age(&mut table["rows"][0]["cells"], &columns, &case)?;
    Ok(json!({
        "widgets": widgets["columnDefinitions"], "whole": {"now": now, "table": table},
    }))
}
