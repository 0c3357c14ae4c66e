//! Updates: an object, the changes to it, and the changes of the answer or the causes of the failure.

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::objects::{remove, request, restore};
use super::{FOLDER, causes};
use crate::file::Files;
use crate::mask::{Mask, drop_metadata};
use crate::resources::{Resources, items, text};
use crate::server::Server;

const NAMESPACE: &str = "upd";

pub(super) async fn record(files: &Files) -> anyhow::Result<()> {
    let path = format!("{FOLDER}/updates.jsonl");
    if !files.selects(&path) {
        return Ok(());
    }
    let server = Server::with_namespaces(&[NAMESPACE]).await?;
    let resources = Resources::discover(&server).await?;
    let mut recorded = Vec::new();
    for case in files.lines(&path)? {
        let case = update(&server, &resources, &case)
            .await
            .with_context(|| format!("failed to record the update of {}", case["old"]))?;
        recorded.push(case);
    }
    files.write_lines(&path, &recorded)
}

async fn update(server: &Server, resources: &Resources, case: &Value) -> anyhow::Result<Value> {
    let old = restore(server, resources, &case["old"], NAMESPACE).await?;
    let collection = resources.collection_of(&old, NAMESPACE)?;
    let path = format!("{collection}/{}", text(&old["metadata"]["name"]));
    let uri = match case["sub"].as_str() {
        Some(subresource) => format!("{path}/{subresource}"),
        None => path.clone(),
    };
    let sent = changed(&old, &case["new"])?;
    let answer = server.put(&uri, &sent).await?;
    let mut mask = Mask::new(&json!([request(&case["old"]), case["new"]]));
    let mut recorded = json!({"old": masked(&mut mask, &old), "new": case["new"]});
    if let Some(subresource) = case.get("sub") {
        recorded["sub"] = subresource.clone();
    }
    mask.next_step();
    if answer.status.is_success() {
        let new = masked(&mut mask, &answer.object()?);
        let mut changes = Vec::new();
        compare(&recorded["old"], &new, "", &mut changes);
        recorded["answer"] = changes.into();
    } else {
        let mut causes = json!(causes(&answer.json()?));
        mask.value(&mut causes);
        recorded["causes"] = causes;
    }
    remove(server, &path).await?;
    Ok(recorded)
}

fn masked(mask: &mut Mask, object: &Value) -> Value {
    let mut object = object.clone();
    drop_metadata(&mut object, &["managedFields", "resourceVersion"]);
    mask.value(&mut object);
    object
}

/// An object with changes, each a JSON pointer and its value or nothing.
fn changed(object: &Value, changes: &Value) -> anyhow::Result<Value> {
    let mut object = object.clone();
    for change in items(changes) {
        let path = text(&change[0]);
        let (parent, key) = path.rsplit_once('/').context("a path starts with /")?;
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = object
            .pointer_mut(parent)
            .and_then(Value::as_object_mut)
            .with_context(|| format!("{path} has no parent"))?;
        match change.get(1) {
            Some(value) => parent.insert(key, value.clone()),
            None => parent.remove(&key),
        };
    }
    Ok(object)
}

/// Finds the changes from one object to another.
fn compare(old: &Value, new: &Value, path: &str, changes: &mut Vec<Value>) {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        if old != new {
            changes.push(json!([path, new]));
        }
        return;
    };
    let names: Map<String, Value> = old.clone().into_iter().chain(new.clone()).collect();
    for name in names.keys() {
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => compare(old, new, &path, changes),
            (None, Some(new)) => changes.push(json!([path, new])),
            _ => changes.push(json!([path])),
        }
    }
}
