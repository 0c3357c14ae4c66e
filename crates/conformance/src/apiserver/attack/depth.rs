//! Nesting: objects that are too deep are rejected on entry, and what was accepted can be read, changed and deleted.

use anyhow::{Context as _, ensure};
use http_body_util::Full;
use serde_json::json;

use super::target::{APPLY, DEFINITIONS, JSON, Target, WIDGETS, YAML};

const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

pub(super) async fn every_way_in(target: &Target) -> anyhow::Result<String> {
    target.define(json!({"type": "object", OPEN: true})).await?;
    let mut codes = Vec::new();
    for levels in [60, 120, 130, 500, 3_000, 9_900, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let body = deep_widget(levels, open, close);
            for content_type in [JSON, YAML] {
                let answer = target
                    .send("POST", WIDGETS, content_type, body.clone())
                    .await?;
                answer.expect(&[201, 400, 413, 422])?;
                codes.push(answer.code);
                target
                    .delete(&format!("{WIDGETS}/deep"))
                    .await?
                    .expect(&[200, 404])?;
            }
            let path = format!("{WIDGETS}/deep?fieldManager=a&force=true");
            let answer = target.send("PATCH", &path, APPLY, body).await?;
            answer.expect(&[201, 400, 413, 422])?;
            target
                .delete(&format!("{WIDGETS}/deep"))
                .await?
                .expect(&[200, 404])?;
        }
    }
    let accepted = codes.iter().filter(|code| **code == 201).count();
    Ok(format!(
        "{accepted} accepted and deleted, {} rejected",
        codes.len() - accepted
    ))
}

/// Stores the deepest object that is accepted, then uses every way to read, change, export and delete it.
pub(super) async fn readable(target: &Target) -> anyhow::Result<String> {
    target.define(json!({"type": "object", OPEN: true})).await?;
    let mut deepest = 0;
    for levels in [
        50, 90, 100, 110, 120, 125, 130, 150, 200, 500, 1_000, 2_000, 5_000, 9_000,
    ] {
        let body = deep_widget(levels, "[", "]");
        let answer = target.send("POST", WIDGETS, YAML, body).await?;
        if answer.expect(&[201, 400, 422]).is_ok() && answer.code == 201 {
            deepest = levels;
            use_object(target)
                .await
                .with_context(|| format!("{levels} levels"))?;
        }
    }
    ensure!(deepest >= 50, "not even 50 levels are accepted");
    let body = deep_widget(deepest, "[", "]");
    target
        .send("POST", WIDGETS, YAML, body)
        .await?
        .expect(&[201])?;
    let path = format!("{DEFINITIONS}/widgets.attack.example.com");
    target.delete(&path).await?.expect(&[200])?;
    while target.get(&path).await?.code != 404 {
        tokio::task::yield_now().await;
    }
    target.define(json!({"type": "object", OPEN: true})).await?;
    let listed = target.get(WIDGETS).await?;
    let left = listed.body["items"].as_array().map_or(0, Vec::len);
    ensure!(
        left == 0,
        "{left} objects remain after the deletion of their definition"
    );
    Ok(format!(
        "the deepest object that is accepted has {deepest} levels"
    ))
}

async fn use_object(target: &Target) -> anyhow::Result<()> {
    let path = format!("{WIDGETS}/deep");
    target.get(&path).await?.expect(&[200])?;
    target.get(WIDGETS).await?.expect(&[200])?;
    let table = target
        .client
        .request("GET", WIDGETS)
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Full::default())?;
    let code = target.client.send(table).await?.status();
    ensure!(code == 200, "a table returned {code}");
    let label = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    let patched = target
        .send("PATCH", &path, "application/merge-patch+json", label)
        .await?;
    patched.expect(&[200])?;
    let patch = json!([{"op": "add", "path": "/metadata/labels/c", "value": "d"}]).to_string();
    let patched = target
        .send("PATCH", &path, "application/json-patch+json", patch)
        .await?;
    patched.expect(&[200])?;
    target.delete(&path).await?.expect(&[200])?;
    ensure!(target.get(&path).await?.code == 404, "the object remains");
    Ok(())
}

pub(super) async fn built_in(target: &Target) -> anyhow::Result<String> {
    let mut last = String::new();
    for levels in [100, 9_000] {
        let nested = "[".repeat(levels) + &"]".repeat(levels);
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"deep"}},"data":{{"a":{nested}}}}}"#
        );
        let path = "/api/v1/namespaces/default/configmaps";
        for content_type in [JSON, YAML] {
            let answer = target
                .send("POST", path, content_type, body.clone())
                .await?;
            last = answer.expect(&[400, 422])?;
        }
    }
    Ok(last)
}

/// YAML aliases that double at each level: 2 to the power of 40 values.
pub(super) async fn aliases(target: &Target) -> anyhow::Result<String> {
    target.define(json!({"type": "object", OPEN: true})).await?;
    let mut spec = "spec:\n  a0: &a0 [x]\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        spec += &format!("  a{level}: &a{level} [*a{below}, *a{below}]\n");
    }
    let body = format!(
        "apiVersion: attack.example.com/v1\nkind: Widget\nmetadata: {{name: laughs}}\n{spec}"
    );
    let created = target.send("POST", WIDGETS, YAML, body.clone()).await?;
    let answer = created.expect(&[400, 413, 422])?;
    let path = format!("{WIDGETS}/laughs?fieldManager=a");
    target
        .send("PATCH", &path, APPLY, body)
        .await?
        .expect(&[400, 413, 422])?;
    Ok(answer)
}

fn deep_widget(levels: usize, open: &str, close: &str) -> String {
    let (open, close) = (open.repeat(levels), close.repeat(levels));
    format!(
        r#"{{"apiVersion":"attack.example.com/v1","kind":"Widget","metadata":{{"name":"deep"}},"spec":{{"x":{open}1{close}}}}}"#
    )
}
