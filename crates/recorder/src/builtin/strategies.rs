//! What the strategy of each kind does: whether it counts generations, creates on update, allows unconditional
//! updates, and returns the object on deletion.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{FOLDER, objects};
use crate::file::Files;
use crate::resources::{Resources, text};
use crate::server::Server;

const NAMESPACE: &str = "def";

pub(super) async fn record(files: &Files) -> anyhow::Result<()> {
    let path = format!("{FOLDER}/facts.json");
    if !files.selects(&path) {
        return Ok(());
    }
    let server = Server::with_namespaces(&[NAMESPACE]).await?;
    let resources = Resources::discover(&server).await?;
    let mut recorded = Vec::new();
    for (kind, object) in first_objects(files)? {
        let strategy = strategy(&server, &resources, &object)
            .await
            .with_context(|| format!("failed to record the strategy of {kind}"))?;
        recorded.push(format!("\"{kind}\":{strategy}"));
    }
    files.write(&path, &format!("{{\n{}\n}}\n", recorded.join(",\n")))
}

/// The first object of each kind in `defaults.jsonl` that has a name.
fn first_objects(files: &Files) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut objects = BTreeMap::new();
    for mut case in files.lines(&format!("{FOLDER}/defaults.jsonl"))? {
        let object = case["in"].take();
        let kind = format!("{}/{}", text(&object["apiVersion"]), text(&object["kind"]));
        if object["metadata"]["name"].is_string() {
            objects.entry(kind).or_insert(object);
        }
    }
    Ok(objects)
}

async fn strategy(server: &Server, resources: &Resources, object: &Value) -> anyhow::Result<Value> {
    let collection = resources.collection_of(object, NAMESPACE)?;
    let path = format!("{collection}/{}", text(&object["metadata"]["name"]));
    let answer = server.put(&path, object).await?;
    let creates_on_update = answer.code() == 201;
    let created = if creates_on_update {
        answer.object()?
    } else {
        server.create(&collection, object).await?
    };
    let mut current = server.get(&path).await?.object()?;
    crate::mask::drop_metadata(&mut current, &["resourceVersion"]);
    let updated = server.put(&path, &current).await?;
    let deleted = server.delete(&path).await?.object()?;
    let strategy = json!([
        created["metadata"]["generation"].is_number(),
        creates_on_update,
        updated.status.is_success(),
        deleted["kind"] != "Status",
    ]);
    objects::remove(server, &path).await?;
    Ok(strategy)
}
