//! Failures: charts, values, ownership, health, servers; retries and rollback.

use std::time::Duration;

use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::{Fault, charts};
use serde_json::json;

use crate::harness::Harness;

#[tokio::test]
async fn a_missing_chart_is_installed_once_it_exists() {
    let harness = Harness::new().await;
    harness.create("late", "late", json!({})).await;
    harness.until_reason("late", "ChartNotFound").await;
    let plugin = harness.get("late").await;
    assert_eq!(plugin.phase(), Phase::Failed);
    charts::write(
        harness.charts.path(),
        "late",
        "1.0.0",
        &[("config.yaml", charts::CONFIG_MAP)],
    );
    harness.until_ready("late").await;
    assert_eq!(harness.get("late").await.status.unwrap().attempts, 0);
    harness.close().await;
}

#[tokio::test]
async fn retries_are_limited_and_restart_with_a_change() {
    let harness = Harness::new().await;
    let bad = "{{ fail .Values.text }}";
    charts::write(harness.charts.path(), "bad", "1.0.0", &[("bad.yaml", bad)]);
    harness.create("bad", "bad", json!({"retries": 2})).await;
    let plugin = harness
        .until("bad", |plugin| {
            plugin
                .status
                .as_ref()
                .is_some_and(|status| status.attempts == 3)
        })
        .await;
    let message = plugin.condition("Ready").unwrap().message.clone();
    assert!(message.contains("gave up after 3 attempts"), "{message}");
    assert!(message.contains("hello"), "{message}");
    harness
        .patch("bad", json!({"spec": {"values": {"text": "other"}}}))
        .await;
    let plugin = harness
        .until("bad", |plugin| {
            plugin
                .condition("Ready")
                .is_some_and(|ready| ready.message.contains("other"))
        })
        .await;
    assert!(plugin.status.unwrap().attempts < 3);
    harness.close().await;
}

#[tokio::test]
async fn values_that_violate_the_schema_are_reported() {
    let harness = Harness::new().await;
    charts::write(
        harness.charts.path(),
        "strict",
        "1.0.0",
        &[("config.yaml", charts::CONFIG_MAP)],
    );
    let schema = r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#;
    fs_err::write(
        harness.charts.path().join("strict/values.schema.json"),
        schema,
    )
    .unwrap();
    harness
        .create("strict", "strict", json!({"values": {"text": 5}}))
        .await;
    let message = harness.until_reason("strict", "RenderFailed").await;
    assert!(message.contains("text"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn a_foreign_object_is_not_adopted() {
    let harness = Harness::new().await;
    let foreign = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"text": "mine"},
    }))
    .unwrap();
    harness
        .config_maps()
        .create(&Default::default(), &foreign)
        .await
        .unwrap();
    harness.create("config", "config", json!({})).await;
    let message = harness.until_reason("config", "Refused").await;
    assert!(
        message.contains("cannot be imported into the current release"),
        "{message}"
    );
    assert_eq!(harness.text("config").await.as_deref(), Some("mine"));
    harness
        .config_maps()
        .delete("config", &Default::default())
        .await
        .unwrap();
    harness.until_ready("config").await;
    harness.close().await;
}

#[tokio::test]
async fn kind_kustomize_is_rejected_with_an_alternative() {
    let harness = Harness::new().await;
    harness
        .create("kust", "config", json!({"kind": "kustomize"}))
        .await;
    let message = harness.until_reason("kust", "KindNotSupported").await;
    assert!(message.contains("kustomize build"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn an_installation_that_times_out_recovers_when_it_becomes_healthy() {
    let harness = Harness::new().await;
    let spec = json!({"timeout": "500ms", "values": {"simulate": "never-ready"}});
    harness.create("web", "web", spec).await;
    let message = harness.until_reason("web", "Timeout").await;
    assert!(message.contains("Deployment default/web"), "{message}");
    let deployments = harness.objects("apps/v1", "Deployment");
    let normal = json!({"annotations": {"outrigger.dev/simulate": null}});
    let patch = json!({"metadata": normal, "spec": {"template": {"metadata": normal}}});
    harness
        .patch("web", json!({"spec": {"drift": "ignore"}}))
        .await;
    deployments
        .patch("web", &Default::default(), &kube::api::Patch::Merge(&patch))
        .await
        .unwrap();
    harness.until_ready("web").await;
    harness.close().await;
}

#[tokio::test]
async fn an_unreachable_server_costs_no_attempts() {
    let harness = Harness::new().await;
    harness.create("one", "config", json!({})).await;
    harness.until_ready("one").await;
    harness.connection.inject(Fault::Unreachable);
    harness
        .patch(
            "one",
            json!({"spec": {"retries": 0, "values": {"text": "while unreachable"}}}),
        )
        .await;
    harness.create("two", "config", json!({"retries": 0})).await;
    // Some requests fail meanwhile.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(harness.text("one").await.as_deref(), Some("hello"));
    harness.connection.inject(Fault::None);
    let two = harness.until_ready("two").await;
    harness.until_ready("one").await;
    assert_eq!(
        harness.text("one").await.as_deref(),
        Some("while unreachable")
    );
    assert_eq!(two.status.unwrap().attempts, 0);
    harness.close().await;
}

#[tokio::test]
async fn a_failed_upgrade_is_rolled_back_if_enabled() {
    let harness = Harness::new().await;
    harness
        .create(
            "web",
            "web",
            json!({"rollback": true, "timeout": "1s", "retries": 0}),
        )
        .await;
    harness.until_ready("web").await;
    let values = json!({"spec": {"values": {"simulate": "never-ready", "text": "broken"}}});
    harness.patch("web", values).await;
    let message = harness.until_reason("web", "RolledBack").await;
    assert!(message.contains("rolled back"), "{message}");
    assert_eq!(harness.text("web").await.as_deref(), Some("hello"));
    harness.close().await;
}
