//! Label and field selectors: which objects a list returns, or the message.

use serde_json::{Value, json};

use super::objects::restore;
use super::{FOLDER, server_with_definitions};
use crate::file::Files;
use crate::resources::{Resources, items, text};
use crate::server::Server;

const NAMESPACE: &str = "sel";
const CONFIG_MAPS: &str = "/api/v1/namespaces/sel/configmaps";

pub(super) async fn record(files: &Files) -> anyhow::Result<()> {
    let path = format!("{FOLDER}/selectors.json");
    if !files.selects(&path) {
        return Ok(());
    }
    let mut recording = files.json(&path)?;
    let server = server_with_definitions(files, NAMESPACE).await?;
    let resources = Resources::discover(&server).await?;
    for object in items(&recording["objects"]) {
        let config_map = json!({"metadata": object});
        server.create(CONFIG_MAPS, &config_map).await?;
    }
    for kind in recording["kinds"].as_object().into_iter().flatten() {
        create_items(&server, &resources, kind.1).await?;
    }
    for case in array(&mut recording["labels"]) {
        let query = format!("labelSelector={}", encoded(text(&case["label"])));
        select(&server, CONFIG_MAPS, &query, case).await?;
    }
    for case in array(&mut recording["fields"]) {
        let path = text(&case["path"]).to_owned();
        let query = format!("fieldSelector={}", encoded(text(&case["field"])));
        select(&server, &path, &query, case).await?;
    }
    files.write(&path, &format!("{}\n", pretty(&recording)))
}

fn array(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

/// Creates the objects of a kind. Those of another version of the kind exist already.
async fn create_items(server: &Server, resources: &Resources, kind: &Value) -> anyhow::Result<()> {
    let (group, version) = (text(&kind["group"]), text(&kind["version"]));
    if group == "events.k8s.io" {
        // They are recorded as they are stored, in the core group.
        return Ok(());
    }
    for item in items(&kind["items"]) {
        let mut object = item.clone();
        object["kind"] = kind["kind"].clone();
        object["apiVersion"] = match group {
            "" => version.into(),
            group => format!("{group}/{version}").into(),
        };
        restore(server, resources, &object, NAMESPACE).await?;
    }
    Ok(())
}

/// Records the names that a list returns, or its message.
async fn select(server: &Server, path: &str, query: &str, case: &mut Value) -> anyhow::Result<()> {
    let answer = server.get(&format!("{path}?{query}")).await?;
    let list = answer.json()?;
    let Some(case) = case.as_object_mut() else {
        return Ok(());
    };
    case.remove("names");
    case.remove("error");
    if answer.status.is_success() {
        let names = items(&list["items"]).map(|item| text(&item["metadata"]["name"]));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        case.insert("names".to_owned(), json!(names));
    } else {
        case.insert("error".to_owned(), list["message"].clone());
    }
    Ok(())
}

/// Escapes a value of a query.
fn encoded(value: &str) -> String {
    let encoded = value.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(byte).into(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

/// One line for each case.
fn pretty(recording: &Value) -> String {
    let sections = recording.as_object().into_iter().flatten();
    let sections = sections.map(|(name, section)| {
        let lines: Vec<_> = match section {
            Value::Array(cases) => cases.iter().map(Value::to_string).collect(),
            section => return format!("\"{name}\":{section}"),
        };
        format!("\"{name}\":[\n{}\n]", lines.join(",\n"))
    });
    format!("{{{}}}", sections.collect::<Vec<_>>().join(",\n"))
}
