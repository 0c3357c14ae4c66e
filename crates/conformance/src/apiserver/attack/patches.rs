//! Patches whose cost grows faster than their size.

use serde_json::{Value, json};

use super::target::{JSON, Target, WIDGETS, widget};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

pub(super) async fn moves(target: &Target) -> anyhow::Result<String> {
    let path = create(
        target,
        json!({"list": (0..50_000).collect::<Vec<_>>(), "a": {}}),
    )
    .await?;
    let mut last = String::new();
    for count in [10_000, 10_001, 100_000] {
        let operations: Vec<Value> = (0..count)
            .map(|_| json!({"op": "move", "from": "/spec/list/0", "path": "/spec/list/49999"}))
            .collect();
        let body = Value::from(operations).to_string();
        let answer = target.send("PATCH", &path, JSON_PATCH, body).await?;
        last = answer.expect(&[200, 400, 413, 422])?;
    }
    for (operation, from) in [("test", "/spec"), ("copy", "/spec/list")] {
        let path_of = |number: usize| match operation {
            "test" => "/spec".to_owned(),
            _ => format!("/spec/a/{number}"),
        };
        let operations: Vec<Value> = (0..10_000)
            .map(|number| json!({"op": operation, "from": from, "path": path_of(number), "value": {}}))
            .collect();
        let body = Value::from(operations).to_string();
        let answer = target.send("PATCH", &path, JSON_PATCH, body).await?;
        answer.expect(&[200, 400, 413, 422])?;
    }
    Ok(last)
}

/// Each operation copies the object into itself: 2 to the power of 60 values.
pub(super) async fn doubling(target: &Target) -> anyhow::Result<String> {
    let path = create(target, json!({"a": {"x": "y".repeat(1_000)}})).await?;
    let operations: Vec<Value> = (0..60)
        .map(|number| json!({"op": "copy", "from": "/spec", "path": format!("/spec/c{number}")}))
        .collect();
    let body = Value::from(operations).to_string();
    let answer = target.send("PATCH", &path, JSON_PATCH, body).await?;
    answer.expect(&[400, 413, 422])
}

pub(super) async fn deep(target: &Target) -> anyhow::Result<String> {
    let path = create(target, json!({"a": {}})).await?;
    let nested = format!("{}1{}", r#"{"a":"#.repeat(9_000), "}".repeat(9_000));
    let body = format!(r#"{{"spec":{nested}}}"#);
    let answer = target.send("PATCH", &path, MERGE_PATCH, body).await?;
    let answer = answer.expect(&[400, 413, 422])?;
    let config_maps = "/api/v1/namespaces/default/configmaps";
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deep"}});
    target
        .send("POST", config_maps, JSON, object.to_string())
        .await?
        .expect(&[201])?;
    let body = format!(r#"{{"data":{nested}}}"#);
    for content_type in [STRATEGIC_PATCH, MERGE_PATCH] {
        let path = format!("{config_maps}/deep");
        let answer = target
            .send("PATCH", &path, content_type, body.clone())
            .await?;
        answer.expect(&[400, 413, 422])?;
    }
    let operations = format!(r#"[{{"op":"add","path":"/spec/b","value":{nested}}}]"#);
    let patched = target.send("PATCH", &path, JSON_PATCH, operations).await?;
    patched.expect(&[400, 413, 422])?;
    Ok(answer)
}

/// Deletes each item of a list by its merge key, in the reverse order.
pub(super) async fn deletions(target: &Target) -> anyhow::Result<String> {
    const ITEMS: usize = 20_000;
    let template = |env: Value| {
        let container = json!({"name": "c", "image": "i", "env": env});
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}})
    };
    let env: Value = (0..ITEMS)
        .map(|number| json!({"name": format!("E{number}"), "value": "x"}))
        .collect();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "long"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template(env)},
    });
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let created = target.post(deployments, &deployment).await?;
    created.expect(&[201])?;
    let env: Value = (1..ITEMS)
        .rev()
        .map(|number| json!({"name": format!("E{number}"), "$patch": "delete"}))
        .collect();
    let patch = json!({"spec": {"template": template(env)}}).to_string();
    let path = format!("{deployments}/long");
    let answer = target.send("PATCH", &path, STRATEGIC_PATCH, patch).await?;
    answer.expect(&[200])
}

async fn create(target: &Target, spec: Value) -> anyhow::Result<String> {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    target.define(open).await?;
    target
        .post(WIDGETS, &widget("patched", &spec))
        .await?
        .expect(&[201])?;
    Ok(format!("{WIDGETS}/patched"))
}
