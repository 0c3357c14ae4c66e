//! What goes wrong: charts, versions, rights, servers.

use std::time::Duration;

use outrigger_api::plugin::Phase;
use serde_json::json;

use crate::charts;
use crate::stage::Stage;

#[tokio::test]
async fn a_chart_that_is_not_there_is_told_with_what_is_and_found_when_it_comes() {
    let stage = Stage::new().await;
    stage.create("late", "late", json!({})).await;
    stage.until_reason("late", "ChartNotFound").await;
    let plugin = stage.get("late").await;
    assert_eq!(plugin.phase(), Phase::Failed);
    charts::write(
        stage.charts.path(),
        "late",
        "1.0.0",
        &[("config.yaml", charts::CONFIG)],
    );
    stage.until_ready("late").await;
    assert_eq!(stage.get("late").await.status.unwrap().attempts, 0);
    stage.close().await;
}

#[tokio::test]
async fn retries_end_and_begin_anew_with_a_change() {
    let stage = Stage::new().await;
    let bad = "{{ fail .Values.text }}";
    charts::write(stage.charts.path(), "bad", "1.0.0", &[("bad.yaml", bad)]);
    stage.create("bad", "bad", json!({"retries": 2})).await;
    let plugin = stage
        .until("bad", |plugin| {
            plugin
                .status
                .as_ref()
                .is_some_and(|status| status.attempts == 3)
        })
        .await;
    let message = plugin.condition("Ready").unwrap().message.clone();
    assert!(message.contains("given up after 3 attempts"), "{message}");
    assert!(message.contains("hello"), "{message}");
    stage
        .patch("bad", json!({"spec": {"values": {"text": "other"}}}))
        .await;
    let plugin = stage
        .until("bad", |plugin| {
            plugin
                .condition("Ready")
                .is_some_and(|ready| ready.message.contains("other"))
        })
        .await;
    assert!(plugin.status.unwrap().attempts < 3);
    stage.close().await;
}

#[tokio::test]
async fn values_that_the_schema_refuses_are_told() {
    let stage = Stage::new().await;
    charts::write(
        stage.charts.path(),
        "strict",
        "1.0.0",
        &[("config.yaml", charts::CONFIG)],
    );
    let schema = r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#;
    fs_err::write(
        stage.charts.path().join("strict/values.schema.json"),
        schema,
    )
    .unwrap();
    stage
        .create("strict", "strict", json!({"values": {"text": 5}}))
        .await;
    let message = stage.until_reason("strict", "RenderFailed").await;
    assert!(message.contains("text"), "{message}");
    stage.close().await;
}

#[tokio::test]
async fn an_object_of_somebody_else_is_not_taken() {
    let stage = Stage::new().await;
    let foreign = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"text": "mine"},
    }))
    .unwrap();
    stage
        .config_maps()
        .create(&Default::default(), &foreign)
        .await
        .unwrap();
    stage.create("config", "config", json!({})).await;
    let message = stage.until_reason("config", "Refused").await;
    assert!(
        message.contains("cannot be imported into the current release"),
        "{message}"
    );
    assert_eq!(stage.text("config").await.as_deref(), Some("mine"));
    stage
        .config_maps()
        .delete("config", &Default::default())
        .await
        .unwrap();
    stage.until_ready("config").await;
    stage.close().await;
}

#[tokio::test]
async fn kustomize_is_refused_in_plain_words() {
    let stage = Stage::new().await;
    stage
        .create("kust", "config", json!({"kind": "kustomize"}))
        .await;
    let message = stage.until_reason("kust", "KindNotSupported").await;
    assert!(message.contains("kustomize build"), "{message}");
    stage.close().await;
}

#[tokio::test]
async fn what_does_not_become_healthy_in_time_fails_and_recovers_by_itself() {
    let stage = Stage::new().await;
    let spec = json!({"timeout": "500ms", "values": {"simulate": "never-ready"}});
    stage.create("web", "web", spec).await;
    let message = stage.until_reason("web", "Timeout").await;
    assert!(message.contains("Deployment default/web"), "{message}");
    let deployments = stage.objects("apps/v1", "Deployment");
    let normal = json!({"annotations": {"outrigger.dev/simulate": null}});
    let patch = json!({"metadata": normal, "spec": {"template": {"metadata": normal}}});
    stage
        .patch("web", json!({"spec": {"drift": "ignore"}}))
        .await;
    deployments
        .patch("web", &Default::default(), &kube::api::Patch::Merge(&patch))
        .await
        .unwrap();
    stage.until_ready("web").await;
    stage.close().await;
}

#[tokio::test]
async fn a_server_that_is_away_for_a_while_costs_no_attempts() {
    let stage = Stage::new().await;
    stage.create("one", "config", json!({})).await;
    stage.until_ready("one").await;
    stage.wire.cut(true);
    stage
        .patch(
            "one",
            json!({"spec": {"retries": 0, "values": {"text": "while away"}}}),
        )
        .await;
    stage.create("two", "config", json!({"retries": 0})).await;
    // Some attempts fail meanwhile.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.text("one").await.as_deref(), Some("hello"));
    stage.wire.cut(false);
    let two = stage.until_ready("two").await;
    stage.until_ready("one").await;
    assert_eq!(stage.text("one").await.as_deref(), Some("while away"));
    assert_eq!(two.status.unwrap().attempts, 0);
    stage.close().await;
}

#[tokio::test]
async fn a_failed_change_goes_back_if_asked_and_says_so() {
    let stage = Stage::new().await;
    stage
        .create(
            "web",
            "web",
            json!({"rollback": true, "timeout": "1s", "retries": 0}),
        )
        .await;
    stage.until_ready("web").await;
    let values = json!({"spec": {"values": {"simulate": "never-ready", "text": "broken"}}});
    stage.patch("web", values).await;
    let message = stage.until_reason("web", "RolledBack").await;
    assert!(message.contains("rolled back"), "{message}");
    assert_eq!(stage.text("web").await.as_deref(), Some("hello"));
    stage.close().await;
}
