//! Failures: charts, values, ownership, health, servers; retries and rollback.

use std::time::Duration;

use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::{Fault, charts};
use serde_json::json;

use crate::harness::Harness;

#[tokio::test]
async fn a_plugin_that_failed_before_its_inputs_were_known_stays_failed_when_it_is_reconciled_again()
 {
    let harness = Harness::with(|options| options.backoff.initial = Duration::from_mins(1)).await;
    harness.create("web", "missing", json!({})).await;
    harness.until_phase("web", Phase::Failed).await;
    for number in 0..3 {
        // An annotation does not change the generation, so the failed attempt still counts.
        let note = json!({"metadata": {"annotations": {"note": number.to_string()}}});
        harness.patch("web", note).await;
        harness
            .create(&format!("other-{number}"), "config", json!({}))
            .await;
        harness.until_ready(&format!("other-{number}")).await;
        assert_eq!(harness.get("web").await.phase(), Phase::Failed);
    }
    harness.close().await;
}

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
            json!({"rollback": true, "timeout": "5s", "retries": 0}),
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

#[tokio::test]
async fn a_further_attempt_after_a_rollback_still_says_what_failed() {
    let harness = Harness::with(|options| options.status_delay = Duration::ZERO).await;
    let spec = json!({"rollback": true, "timeout": "5s", "retries": 5});
    harness.create("web", "web", spec).await;
    harness.until_ready("web").await;
    let values = json!({"spec": {"values": {"simulate": "never-ready"}}});
    harness.patch("web", values).await;
    let plugin = harness
        .until("web", |plugin| {
            let ready = plugin.condition("Ready");
            plugin.phase() == Phase::Upgrading
                && ready.is_some_and(|ready| ready.message.contains("the last one failed"))
        })
        .await;
    let message = &plugin.condition("Ready").unwrap().message;
    for words in ["attempt ", "Deployment/default/web not ready"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    harness.close().await;
}

#[tokio::test]
async fn a_health_rule_applies_to_a_kind_that_is_watched_already() {
    let harness = Harness::new().await;
    // Starts a watch of the metadata of all ConfigMaps.
    harness.create("plain", "config", json!({})).await;
    harness.until_ready("plain").await;
    let rule =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "healthy": "self.data.text == 'good'"});
    let spec = json!({"values": {"text": "bad"}, "health": [rule]});
    harness.create("ruled", "config", spec).await;
    let plugin = harness.until_phase("ruled", Phase::Installing).await;
    let message = &plugin.condition("Ready").unwrap().message;
    assert!(message.contains("health rule is false"), "{message}");
    let good = json!({"spec": {"values": {"text": "good"}}});
    harness.patch("ruled", good).await;
    harness.until_ready("ruled").await;
    harness.until_ready("plain").await;
    harness.close().await;
}

#[tokio::test]
async fn a_kind_that_another_plugin_brings_is_awaited() {
    let harness = Harness::new().await;
    let gadget =
        "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: {{ .Release.Name }}}\n";
    let files = [("gadget.yaml", gadget)];
    charts::write(harness.charts.path(), "gadget", "1.0.0", &files);
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";
    let files = [("definition.yaml", definition)];
    charts::write(harness.charts.path(), "definition", "1.0.0", &files);
    harness
        .create("gadget", "gadget", json!({"retries": 0}))
        .await;
    let message = harness.until_reason("gadget", "KindMissing").await;
    assert_eq!(
        message,
        "waiting for the cluster to define kind Gadget (example.com/v1)"
    );
    assert_eq!(harness.get("gadget").await.phase(), Phase::Waiting);
    harness.create("definition", "definition", json!({})).await;
    harness.until_ready("gadget").await;
    harness.close().await;
}

#[tokio::test]
async fn a_template_creates_the_namespaces_of_its_objects_and_a_release_waits_for_them() {
    let harness = Harness::new().await;
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: elsewhere}\n";
    let files = [("map.yaml", map)];
    charts::write(harness.charts.path(), "elsewhere", "1.0.0", &files);
    harness.create("release", "elsewhere", json!({})).await;
    let message = harness.until_reason("release", "NamespaceMissing").await;
    assert!(
        message.contains("namespaces \"elsewhere\" not found"),
        "{message}"
    );
    let template = json!({"kind": "template"});
    harness.create("template", "elsewhere", template).await;
    harness.until_ready("template").await;
    harness.until_ready("release").await;
    harness.close().await;
}

#[tokio::test]
async fn a_change_that_a_status_write_returns_before_the_watch_reports_it_is_reconciled() {
    let harness = Harness::with(|options| options.backoff.initial = Duration::from_secs(1)).await;
    let template = format!(
        "{{{{ if eq .Values.text \"bad\" }}}}{{{{ fail \"bad\" }}}}{{{{ end }}}}\n{}",
        charts::CONFIG_MAP
    );
    charts::write(
        harness.charts.path(),
        "fragile",
        "1.0.0",
        &[("config.yaml", &template)],
    );
    harness
        .create("web", "fragile", json!({"retries": 1}))
        .await;
    harness.until_ready("web").await;
    let text = |text: &str| json!({"spec": {"values": {"text": text}}});
    harness.patch("web", text("bad")).await;
    harness.until_phase("web", Phase::Failed).await;
    harness.connection.hold_watches();
    let changed = harness.patch("web", text("good")).await;
    // The last attempt still knows only the bad value, and its status write returns the good one.
    let plugin = harness
        .until("web", |plugin| {
            let status = plugin.status.as_ref();
            status.is_some_and(|status| status.installed_generation == changed.metadata.generation)
        })
        .await;
    assert_eq!(plugin.status.unwrap().revision, Some(2));
    assert_eq!(harness.text("web").await.as_deref(), Some("good"));
    harness.connection.release_watches();
    harness.until_ready("web").await;
    harness.close().await;
}

#[tokio::test]
async fn values_that_become_invalid_are_not_ready_however_often_it_is_reconciled() {
    let harness = Harness::new().await;
    let secrets = harness.objects("v1", "Secret");
    let secret = |text: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "texts"},
            "stringData": {"values.yaml": text},
        })
    };
    let good = serde_json::from_value(secret("text: a")).unwrap();
    secrets.create(&Default::default(), &good).await.unwrap();
    let spec = json!({"valuesFrom": [{"kind": "Secret", "name": "texts", "key": "values.yaml"}]});
    harness.create("config", "config", spec).await;
    harness.until_ready("config").await;
    let bad = kube::api::Patch::Merge(secret("text: [a"));
    let parameters = Default::default();
    secrets.patch("texts", &parameters, &bad).await.unwrap();
    let plugin = harness
        .until("config", |plugin| {
            let status = plugin.status.as_ref();
            status.is_some_and(|status| {
                status.attempts >= 3 || status.phase == Phase::Ready && status.attempts > 0
            })
        })
        .await;
    assert_eq!(plugin.phase(), Phase::Failed);
    assert!(!plugin.is_ready());
    harness.close().await;
}

#[tokio::test]
async fn an_object_that_the_server_cannot_decode_is_a_failure_and_not_an_outage() {
    let harness = Harness::new().await;
    let spec = json!({"values": {"replicas": "abc"}, "retries": 0});
    harness.create("web", "web", spec).await;
    let message = harness.until_reason("web", "ApplyFailed").await;
    assert!(message.contains(".spec.replicas"), "{message}");
    assert_eq!(harness.get("web").await.phase(), Phase::Failed);
    harness.close().await;
}

#[tokio::test]
async fn a_failed_installation_says_what_was_rendered_and_which_chart() {
    let harness = Harness::new().await;
    let spec = json!({"values": {"replicas": "many"}, "retries": 0});
    harness.create("web", "web", spec).await;
    let plugin = harness.until_phase("web", Phase::Failed).await;
    let rendered = plugin.condition("Rendered").unwrap();
    assert_eq!(rendered.message, "2 objects");
    assert_eq!(rendered.observed_generation, plugin.metadata.generation);
    let status = plugin.status.unwrap();
    assert_eq!(status.chart.as_deref(), Some("web"));
    assert_eq!(status.version.as_deref(), Some("1.2.3"));
    assert_eq!(status.revision, None);
    // Nothing is left of an installation that was rolled back.
    let spec = json!({"values": {"replicas": "many"}, "rollback": true});
    harness.create("undone", "web", spec).await;
    let plugin = harness.until_phase("undone", Phase::Failed).await;
    assert_eq!(plugin.condition("Rendered").unwrap().message, "2 objects");
    assert_eq!(plugin.status.unwrap().version, None);
    harness.close().await;
}

/// A template that a later version of a chart adds.
const EXTRA: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n";

#[tokio::test]
async fn a_failed_upgrade_says_what_was_rendered_and_keeps_the_deployed_version() {
    let harness = Harness::new().await;
    harness.create("web", "web", json!({"retries": 0})).await;
    harness.until_ready("web").await;
    charts::write(
        harness.charts.path(),
        "web",
        "1.3.0",
        &[("extra.yaml", EXTRA)],
    );
    let values = json!({"spec": {"version": "1.3.0", "values": {"replicas": "many"}}});
    harness.patch("web", values).await;
    let plugin = harness.until_phase("web", Phase::Failed).await;
    assert_eq!(plugin.condition("Rendered").unwrap().message, "3 objects");
    let status = plugin.status.unwrap();
    assert_eq!(status.version.as_deref(), Some("1.2.3"));
    assert_eq!(status.revision, Some(1));
    harness.close().await;
}
