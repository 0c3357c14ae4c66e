//! The recordings of `builtin`: defaults, validation, updates, conversions, selectors, strategies and tables.

use serde_json::{Value, json};

use crate::file::Files;
use crate::mask::{Mask, drop_metadata, without_uids};
use crate::resources::{Resources, create_definition, items, text};
use crate::server::Server;

mod objects;
mod selectors;
mod strategies;
mod tables;
mod updates;

const FOLDER: &str = "crates/builtin/tests/data";

pub(crate) async fn record(files: &Files) -> anyhow::Result<()> {
    defaults(files).await?;
    types(files).await?;
    invalid(files).await?;
    conversions(files).await?;
    updates::record(files).await?;
    selectors::record(files).await?;
    strategies::record(files).await?;
    tables::record(files).await
}

/// Starts a server with a namespace and the definitions of `definitions.jsonl`.
async fn server_with_definitions(files: &Files, namespace: &str) -> anyhow::Result<Server> {
    let server = Server::with_namespaces(&[namespace]).await?;
    for definition in files.lines(&format!("{FOLDER}/definitions.jsonl"))? {
        let mut definition = definition.clone();
        let fields = definition.as_object_mut();
        fields.and_then(|fields| fields.remove("status"));
        create_definition(&server, &definition).await?;
    }
    Ok(server)
}

/// A file to record, and a server with its resources.
struct Recording {
    path: String,
    server: Server,
    resources: Resources,
}

impl Recording {
    /// Starts a server with a namespace, unless the file is not selected.
    async fn start(files: &Files, name: &str, namespace: &str) -> anyhow::Result<Option<Self>> {
        let path = format!("{FOLDER}/{name}.jsonl");
        if !files.selects(&path) {
            return Ok(None);
        }
        let server = Server::with_namespaces(&[namespace]).await?;
        let resources = Resources::discover(&server).await?;
        Ok(Some(Self {
            path,
            server,
            resources,
        }))
    }
}

/// Records objects as sent and as answered.
async fn defaults(files: &Files) -> anyhow::Result<()> {
    let Some(recording) = Recording::start(files, "defaults", "def").await? else {
        return Ok(());
    };
    let (path, server, resources) = (&recording.path, &recording.server, &recording.resources);
    let mut recorded = Vec::new();
    for case in files.lines(path)? {
        let sent = &case["in"];
        let collection = resources.collection_of(sent, "def")?;
        // A dry run does not allocate addresses and ports.
        let is_service = sent["kind"] == "Service";
        let uri = if is_service {
            collection.clone()
        } else {
            format!("{collection}?dryRun=All")
        };
        let mut answer = server.create(&uri, sent).await?;
        if is_service {
            let name = text(&answer["metadata"]["name"]);
            server.delete(&format!("{collection}/{name}")).await?;
        }
        drop_metadata(&mut answer, &["managedFields", "resourceVersion"]);
        let mut mask = Mask::new(sent);
        mask_generated_name(&mut mask, &answer);
        mask.value(&mut answer);
        recorded.push(json!({"in": sent, "out": answer}));
    }
    files.write_lines(path, &recorded)
}

fn mask_generated_name(mask: &mut Mask, object: &Value) {
    let metadata = &object["metadata"];
    if let Some(prefix) = metadata["generateName"].as_str() {
        mask.set(text(&metadata["name"]), &format!("{prefix}00000"));
    }
}

/// Records the messages about values of the wrong type and unknown fields.
async fn types(files: &Files) -> anyhow::Result<()> {
    let Some(recording) = Recording::start(files, "types", "default").await? else {
        return Ok(());
    };
    let (path, server, resources) = (&recording.path, &recording.server, &recording.resources);
    let mut recorded = Vec::new();
    for case in files.lines(path)? {
        let object = &case["object"];
        let collection = resources.collection_of(object, "default")?;
        let uri = format!("{collection}?dryRun=All&fieldValidation=Strict");
        let answer = server.post(&uri, object).await?.json()?;
        recorded.push(json!({"object": object, "message": answer["message"]}));
    }
    files.write_lines(path, &recorded)
}

/// Records why validation rejects objects. The first line of the file holds long texts, to which causes refer by
/// `@` and their index.
async fn invalid(files: &Files) -> anyhow::Result<()> {
    let Some(recording) = Recording::start(files, "invalid", "val").await? else {
        return Ok(());
    };
    let (path, server, resources) = (&recording.path, &recording.server, &recording.resources);
    let lines = files.lines(path)?;
    let Some((texts, cases)) = lines.split_first() else {
        return Ok(());
    };
    let mut recorded = vec![texts.clone()];
    for case in cases {
        let object = &case["object"];
        let collection = resources.collection_of(object, "val")?;
        let uri = format!("{collection}?dryRun=All");
        let status = server.post(&uri, object).await?.json()?;
        let mut causes = causes(&status);
        sort_map_entries(&mut causes, object);
        for cause in &mut causes {
            let message = without_uids(text(&cause[2]));
            cause[2] = shortened(&message, texts).into();
        }
        recorded.push(json!({"object": object, "causes": causes}));
    }
    files.write_lines(path, &recorded)
}

fn shortened(message: &str, texts: &Value) -> String {
    for (index, long) in items(texts).enumerate() {
        if let Some(start) = message.strip_suffix(text(long)) {
            return format!("{start}@{index}");
        }
    }
    message.to_owned()
}

/// The causes of a failure as field, reason and message, each once.
fn causes(status: &Value) -> Vec<Value> {
    let mut causes: Vec<Value> = Vec::new();
    for cause in items(&status["details"]["causes"]) {
        let reason = text(&cause["reason"]).replace("FieldValue", "");
        // The difference of two Go structs, which some messages end with, is not recorded.
        let message = text(&cause["message"]);
        let message = message
            .split_once("\n@@")
            .map_or(message, |(start, _)| start);
        let cause = json!([cause["field"], reason, message]);
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes
}

/// Sorts the causes of a map with several entries by the values that they quote: Go iterates over maps in random order.
fn sort_map_entries(causes: &mut [Value], object: &Value) {
    for causes in causes.chunk_by_mut(|a, b| a[0] == b[0]) {
        let path = format!("/{}", text(&causes[0][0]).replace('.', "/"));
        let map = object.pointer(&path).and_then(Value::as_object);
        if map.is_some_and(|map| map.len() > 1) {
            causes.sort_by_key(|cause| text(&cause[2]).split("\": ").next().map(str::to_owned));
        }
    }
}

/// Records objects in the version in which they are stored and in another.
async fn conversions(files: &Files) -> anyhow::Result<()> {
    let Some(recording) = Recording::start(files, "conversions", "default").await? else {
        return Ok(());
    };
    let (path, server, resources) = (&recording.path, &recording.server, &recording.resources);
    let mut recorded = Vec::new();
    for case in files.lines(path)? {
        let (kind, group) = (text(&case["kind"]), text(&case["group"]));
        let stored = &case["stored"];
        let mut stored = objects::restore(server, resources, stored, "default").await?;
        let collection = resources.collection(&format!("{group}/v1"), kind, "default")?;
        let name = text(&stored["metadata"]["name"]);
        let mut v1 = server
            .get(&format!("{collection}/{name}"))
            .await?
            .object()?;
        for object in [&mut stored, &mut v1] {
            let names = [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "managedFields",
            ];
            drop_metadata(object, &names);
        }
        recorded.push(json!({"kind": kind, "group": group, "v1": v1, "stored": stored}));
    }
    files.write_lines(path, &recorded)
}
