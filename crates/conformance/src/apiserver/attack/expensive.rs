//! Requests that are valid and take long, many at once.

use anyhow::ensure;
use futures::future::try_join_all;
use http_body_util::Full;
use serde_json::{Map, Value, json};

use super::target::{APPLY, Answer, DEFINITIONS, Target, WIDGETS, definition, widget};
use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;

/// How many clients send the same request at once.
const CLIENTS: usize = 8;

/// Rules within the budget of kube-apiserver: each write of an object evaluates them for most of a second.
pub(super) async fn rules(target: &Target) -> anyhow::Result<String> {
    target.define(expensive_rules()).await?;
    let create = async |client: usize| -> anyhow::Result<String> {
        let client_of = Client::connect(&target.server.endpoint).await?;
        let mut last = String::new();
        for number in 0..2 {
            let object = widget(&format!("w{client}-{number}"), &numbers());
            let response = client_of.post(WIDGETS, object.to_string()).await?;
            last = Answer::new(&response).expect(&[201])?;
        }
        Ok(last)
    };
    let answers = try_join_all((0..CLIENTS).map(create)).await?;
    Ok(format!("{CLIENTS} clients, each {:?}", answers.first()))
}

/// The same, from clients that leave before the response.
pub(super) async fn abandoned_rules(target: &Target) -> anyhow::Result<String> {
    const REQUESTS: usize = 200;
    target.define(expensive_rules()).await?;
    for number in 0..REQUESTS {
        let object = widget(&format!("w{number}"), &numbers());
        let request = target.client.request("POST", WIDGETS);
        let request = request.body(Full::from(object.to_string()))?;
        let response = target.client.stream(request);
        let patience = std::time::Duration::from_millis(10);
        let _ = tokio::time::timeout(patience, response).await;
    }
    // A client that waits is not behind all of them.
    let object = widget("last", &numbers());
    target.post(WIDGETS, &object).await?.expect(&[201])
}

/// Ten rules, each of which iterates over all triples of a list.
fn expensive_rules() -> Value {
    let rule = |number: usize| {
        let rule = format!("self.l.all(a, self.l.all(b, self.l.all(c, c != {number})))");
        json!({"rule": rule})
    };
    json!({
        "type": "object",
        "properties": {"l": {"type": "array", "maxItems": 50, "items": {"type": "integer"}}},
        "x-kubernetes-validations": (0..10).map(rule).collect::<Vec<_>>(),
    })
}

fn numbers() -> Value {
    json!({"l": vec![100; 50]})
}

/// Objects of a megabyte with as many fields as fit, changed in each way.
pub(super) async fn large_objects(target: &Target) -> anyhow::Result<String> {
    let fields = |value: &str| -> Map<String, Value> {
        let fields = (0..20_000).map(|number| (format!("key-{number}"), value.into()));
        fields.collect()
    };
    let write = async |client: usize| -> anyhow::Result<String> {
        let path = format!("{CONFIG_MAPS}/large-{client}");
        let object = |value: &str| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("large-{client}")},
                "data": fields(value),
            })
        };
        let apply = format!("{path}?fieldManager=one&force=true");
        let applied = object("a").to_string();
        let created = target.send("PATCH", &apply, APPLY, applied).await?;
        created.expect(&[201])?;
        let apply = format!("{path}?fieldManager=two&force=true");
        let applied = object("b").to_string();
        let changed = target.send("PATCH", &apply, APPLY, applied).await?;
        changed.expect(&[200])?;
        let merged = json!({"data": fields("c")}).to_string();
        for patch in ["merge-patch+json", "strategic-merge-patch+json"] {
            let content_type = format!("application/{patch}");
            let changed = target.send("PATCH", &path, &content_type, merged.clone());
            changed.await?.expect(&[200])?;
        }
        let operations: Vec<Value> = (0..9_000)
            .map(|number| json!({"op": "replace", "path": format!("/data/key-{number}"), "value": "d"}))
            .collect();
        let patch = Value::from(operations).to_string();
        let patched = target.send("PATCH", &path, "application/json-patch+json", patch);
        patched.await?.expect(&[200])
    };
    let answers = try_join_all((0..CLIENTS).map(write)).await?;
    Ok(format!("{CLIENTS} clients, each {:?}", answers.first()))
}

/// Lists of 10,000 objects in the forms that must parse, filter or compress all of them.
pub(super) async fn lists(target: &Target) -> anyhow::Result<String> {
    const OBJECTS: usize = 10_000;
    let secrets = "/api/v1/namespaces/default/secrets";
    let create = async |number: usize| {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": format!("s{number}"), "labels": {"number": number.to_string()}},
            "stringData": {"text": "x".repeat(1_000)},
        });
        target.post(secrets, &object).await?.expect(&[201])
    };
    for chunk in (0..OBJECTS).collect::<Vec<_>>().chunks(100) {
        try_join_all(chunk.iter().map(|number| create(*number))).await?;
    }
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let selector = format!("?labelSelector={}a!%3Db", "a!%3Db,".repeat(3_000));
    let forms = [
        (table, "", ""),
        (metadata, "", ""),
        ("application/yaml", "", ""),
        ("application/json", "gzip", ""),
        ("application/json", "", "?fieldSelector=type%3Dother"),
        ("application/json", "", &selector),
    ];
    let list = async |client: usize| -> anyhow::Result<usize> {
        let (accept, encoding, query) = forms[client % forms.len()];
        let client = Client::connect(&target.server.endpoint).await?;
        let request = client.request("GET", &format!("{secrets}{query}"));
        let request = request
            .header("accept", accept)
            .header("accept-encoding", encoding);
        let response = client.send(request.body(Full::default())?).await?;
        let code = response.status();
        ensure!(code == 200, "{accept} {query:.40}: {code}");
        Ok(response.body().len())
    };
    let sizes = try_join_all((0..CLIENTS).map(list)).await?;
    let total: usize = sizes.iter().sum();
    Ok(format!("{CLIENTS} lists, {} MB", total / 1_000_000))
}

/// The documents of all kinds, while definitions come: each makes the documents outdated.
pub(super) async fn documents(target: &Target) -> anyhow::Result<String> {
    const ROUNDS: usize = 10;
    let paths = [
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/apis/attack.example.com/v1",
        "/openapi/v3/apis/apps/v1",
    ];
    for number in 0..ROUNDS {
        let spec = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let object = definition(&format!("k{number}s"), &spec);
        target.post(DEFINITIONS, &object).await?.expect(&[201])?;
        let get = async |client: usize| -> anyhow::Result<()> {
            let request = target.client.request("GET", paths[client % paths.len()]);
            let request = request.header("accept-encoding", "gzip");
            let response = target.client.send(request.body(Full::default())?).await?;
            let code = response.status();
            ensure!(code == 200 || code == 404, "{code}");
            Ok(())
        };
        try_join_all((0..CLIENTS).map(get)).await?;
    }
    Ok(format!(
        "{ROUNDS} definitions, {CLIENTS} documents after each"
    ))
}
