//! What a server says about itself: roles, discovery and OpenAPI documents, and columns of tables.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value, json};
use sha2::Digest as _;

use crate::file::{Files, with_answer};
use crate::mask::drop_metadata;
use crate::resources::{Resources, create_definition, items, text, wait_until_served};
use crate::server::{Answer, Server};

const DEFINITIONS: &str = "crates/builtin/tests/data/definitions.jsonl";
const DISCOVERY: &str = "crates/apiserver/tests/data/discovery.jsonl";
const OPENAPI: &str = "crates/openapi/tests/data/openapi.json";
const BOOTSTRAP: &str = "crates/apiserver/src/auth/bootstrap.jsonl";
const FLOW_CONTROL: &str = "crates/apiserver/src/flow_control/objects.jsonl";
const COLUMNS: &str = "crates/builtin/src/table/columns.json";

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

pub(crate) async fn record(files: &Files) -> anyhow::Result<()> {
    if files.selects(COLUMNS) {
        columns(files).await?;
    }
    if files.selects(BOOTSTRAP) {
        bootstrap(files).await?;
    }
    if files.selects(FLOW_CONTROL) {
        flow_control(files).await?;
    }
    // They share a server, since the later ones depend on the definitions.
    if files.selects(DEFINITIONS) || files.selects(DISCOVERY) || files.selects(OPENAPI) {
        documents(files).await?;
    }
    Ok(())
}

/// Records the columns of all kinds of stable versions that can be listed. Descriptions are written once.
async fn columns(files: &Files) -> anyhow::Result<()> {
    let server = Server::start().await?;
    let resources = Resources::discover(&server).await?;
    let mut descriptions: Vec<String> = Vec::new();
    let mut kinds = Vec::new();
    for ((version, kind), resource) in &resources.0 {
        let is_stable = ["v1", "v2"].contains(&version.rsplit('/').next().unwrap_or_default());
        if !is_stable || !resource.is_listable {
            continue;
        }
        let path = resources.collection(version, kind, "default")?;
        let table = server.get_as(&path, TABLE).await?.object()?;
        let columns: Vec<_> = items(&table["columnDefinitions"])
            .map(|column| {
                let description = text(&column["description"]);
                let known = descriptions.iter().position(|known| known == description);
                let index = known.unwrap_or_else(|| {
                    descriptions.push(description.to_owned());
                    descriptions.len() - 1
                });
                let [name, type_, format, priority] =
                    ["name", "type", "format", "priority"].map(|name| &column[name]);
                json!([name, type_, format, index, priority])
            })
            .collect();
        kinds.push(format!("\"{version}/{kind}\":{}", json!(columns)));
    }
    let descriptions: Vec<_> = descriptions
        .iter()
        .map(|text| json!(text).to_string())
        .collect();
    let file = format!(
        "{{\"descriptions\":[\n{}\n],\"kinds\":{{\n{}\n}}}}\n",
        descriptions.join(",\n"),
        kinds.join(",\n")
    );
    files.write(COLUMNS, &file)
}

/// Records the roles and bindings of a new cluster, without what all of them have in common.
async fn bootstrap(files: &Files) -> anyhow::Result<()> {
    let server = Server::start().await?;
    let root = "/apis/rbac.authorization.k8s.io/v1";
    // The controller manager fills these in, one after the other.
    for name in ["admin", "edit", "view"] {
        let path = format!("{root}/clusterroles/{name}");
        let is_aggregated = |answer: &Answer| {
            let role = answer.json().unwrap_or_default();
            items(&role["rules"]).count() > usize::from(name == "admin")
        };
        server.wait_for(&path, is_aggregated).await?;
    }
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let mut lines = Vec::new();
    for resource in [
        "clusterroles",
        "clusterrolebindings",
        "roles",
        "rolebindings",
    ] {
        let query = "labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults";
        let list = server.get(&format!("{root}/{resource}?{query}")).await?;
        let list = list.object()?;
        let kind = text(&list["kind"]).trim_end_matches("List").to_owned();
        lines.extend(items(&list["items"]).map(|object| bootstrap_object(&kind, object)));
    }
    files.write_lines(BOOTSTRAP, &lines)
}

/// Records the flow schemas and priority levels of a new cluster, in the order in which schemas apply.
async fn flow_control(files: &Files) -> anyhow::Result<()> {
    let server = Server::start().await?;
    let root = "/apis/flowcontrol.apiserver.k8s.io/v1";
    let last = format!("{root}/flowschemas/catch-all");
    let is_created = |answer: &Answer| answer.object().is_ok();
    server.wait_for(&last, is_created).await?;
    let mut lines = Vec::new();
    for resource in ["prioritylevelconfigurations", "flowschemas"] {
        let list = server.get(&format!("{root}/{resource}")).await?.object()?;
        let kind = text(&list["kind"]).trim_end_matches("List").to_owned();
        let mut objects: Vec<&Value> = items(&list["items"]).collect();
        objects.sort_by_key(|object| object["spec"]["matchingPrecedence"].as_i64());
        lines.extend(objects.into_iter().map(|object| {
            let metadata = &object["metadata"];
            json!({
                "kind": kind, "name": metadata["name"], "annotations": metadata["annotations"],
                "spec": object["spec"],
            })
        }));
    }
    files.write_lines(FLOW_CONTROL, &lines)
}

fn bootstrap_object(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    let mut metadata = object["metadata"].take();
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.retain(|name, value| {
        !value.is_null() && !["metadata", "apiVersion"].contains(&name.as_str())
    });
    fields.insert("kind".to_owned(), kind.into());
    for name in ["name", "namespace"] {
        if let Some(value) = metadata.get_mut(name) {
            fields.insert(name.to_owned(), value.take());
        }
    }
    if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
        labels.remove("kubernetes.io/bootstrapping");
        if !labels.is_empty() {
            fields.insert("labels".to_owned(), labels.clone().into());
        }
    }
    fields.into()
}

/// Records definitions with their status, and discovery and OpenAPI documents before and after them.
async fn documents(files: &Files) -> anyhow::Result<()> {
    let server = Server::start().await?;
    let cases = files.lines(DISCOVERY)?;
    let (custom, builtin): (Vec<_>, Vec<_>) =
        cases.iter().partition(|case| case["state"] == "custom");
    let mut discovery = discovery(&server, &builtin).await?;
    let mut definitions = Vec::new();
    for mut definition in files.lines(DEFINITIONS)? {
        if let Some(fields) = definition.as_object_mut() {
            fields.remove("status");
        }
        let mut definition = create_definition(&server, &definition).await?;
        let names = [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "managedFields",
        ];
        drop_metadata(&mut definition, &names);
        let conditions = definition["status"]["conditions"].as_array_mut();
        for condition in conditions.into_iter().flatten() {
            condition["lastTransitionTime"] = "2026-01-01T00:00:00Z".into();
        }
        let is_established = items(&definition["status"]["conditions"])
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        if is_established {
            wait_until_served(&server, &definition).await?;
        }
        definitions.push(definition);
    }
    files.write_lines(DEFINITIONS, &definitions)?;
    // Discovery and OpenAPI documents follow within seconds.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    discovery.push_str(&self::discovery(&server, &custom).await?);
    files.write(DISCOVERY, &discovery)?;
    openapi(files, &server).await
}

async fn discovery(server: &Server, cases: &[&Value]) -> anyhow::Result<String> {
    let address = Regex::new("\"serverAddress\":\"[0-9.]+:6443\"")?;
    let mut recorded = String::new();
    for case in cases {
        let mut case = (*case).clone();
        let path = text(&case["path"]).to_owned();
        let answer = if case["etag"].is_string() {
            let answer = server.get_as(&path, AGGREGATED).await?;
            let etag = answer.headers.get("etag").and_then(|tag| tag.to_str().ok());
            case["etag"] = etag.unwrap_or_default().trim_matches('"').into();
            answer
        } else {
            server.get(&path).await?
        };
        answer.object()?;
        let constant = "\"serverAddress\":\"127.77.1.1:6443\"";
        let answer = if case["state"] == "custom" {
            sorted_resources(answer.json()?).to_string()
        } else {
            address.replace_all(&answer.text, constant).into_owned()
        };
        recorded.push_str(&with_answer(&case, &answer));
    }
    Ok(recorded)
}

/// A server lists the resources of definitions in random order.
fn sorted_resources(mut list: Value) -> Value {
    if let Some(Value::Array(resources)) = list.get_mut("resources") {
        resources.sort_by_key(|resource| resource["name"].to_string());
    }
    list
}

/// Records digests of the items of OpenAPI paths, one item in full, and the schemas of custom resources.
async fn openapi(files: &Files, server: &Server) -> anyhow::Result<()> {
    let recording = files.json(OPENAPI)?;
    let mut paths = Map::new();
    let mut schemas = BTreeMap::new();
    let mut sample = Value::Null;
    for (version, recorded) in recording["paths"].as_object().into_iter().flatten() {
        let document = server.get(&format!("/openapi/v3/{version}")).await?;
        let document = document.object()?;
        let mut digests = Map::new();
        for path in recorded
            .as_object()
            .into_iter()
            .flatten()
            .map(|(path, _)| path)
        {
            let item = without_descriptions(document["paths"][path].clone());
            digests.insert(path.clone(), digest(&item).into());
            if path == "/apis/apps/v1/namespaces/{namespace}/deployments/{name}" {
                sample = item;
            }
        }
        paths.insert(version.clone(), digests.into());
        schemas.insert(version, document["components"]["schemas"].clone());
    }
    let custom = schemas[&"apis/stable.example.com/v1".to_owned()].clone();
    let names = recording["custom"].as_object().into_iter().flatten();
    let custom: Map<_, _> = names
        .map(|(name, _)| (name.clone(), custom[name].clone()))
        .collect();
    let config_map = &schemas[&"api/v1".to_owned()]["io.k8s.api.core.v1.ConfigMap"];
    let file = json!({"paths": paths, "custom": custom, "configMap": config_map, "sample": sample});
    files.write(OPENAPI, &format!("{file}\n"))
}

fn without_descriptions(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("description");
            for value in map.values_mut() {
                *value = without_descriptions(value.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_descriptions(item.take());
            }
        }
        _ => {}
    }
    value
}

/// The first twelve digits of the SHA-256 sum of the JSON.
fn digest(item: &Value) -> String {
    let digest = sha2::Sha256::digest(item.to_string());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digest[..12].to_owned()
}
