//! The deployed revision is protected: its record, its objects while a new spec cannot be deployed, and against upgrades
//! that failed before.

use kube::api::{Patch, PatchParams};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::{Harness, is_drifted};

const RECORD: &str = "sh.helm.release.v1.config.v1";

async fn delete_record(harness: &Harness, name: &str) {
    let secrets = harness.objects("v1", "Secret");
    secrets.delete(name, &Default::default()).await.unwrap();
}

#[tokio::test]
async fn a_deleted_release_record_is_restored_under_its_number() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    let values = json!({"spec": {"values": {"text": "two"}}});
    harness.patch("config", values).await;
    let is_upgraded = |plugin: &Plugin| {
        let status = plugin.status.as_ref();
        plugin.is_ready() && status.is_some_and(|status| status.revision == Some(2))
    };
    harness.until("config", is_upgraded).await;
    let record = "sh.helm.release.v1.config.v2";
    delete_record(&harness, record).await;
    harness.until_exists("v1", "Secret", record).await;
    let note = harness.until_event("config", "DriftCorrected").await;
    assert_eq!(note, format!("release record default/{record} is missing"));
    harness.until("config", is_upgraded).await;
    harness.close().await;
}

#[tokio::test]
async fn a_plugin_is_not_ready_without_its_release_record() {
    let harness = Harness::new().await;
    harness
        .create("config", "config", json!({"drift": "warn"}))
        .await;
    harness.until_ready("config").await;
    delete_record(&harness, RECORD).await;
    let plugin = harness.until_phase("config", Phase::Degraded).await;
    let message = &plugin.condition("Ready").unwrap().message;
    assert_eq!(
        *message,
        format!("release record default/{RECORD}: is missing")
    );
    harness.close().await;
}

/// Deletes the ConfigMap of a plugin and waits until it is there again.
async fn assert_protected(harness: &Harness, name: &str) {
    let maps = harness.config_maps();
    maps.delete(name, &Default::default()).await.unwrap();
    harness.until_exists("v1", "ConfigMap", name).await;
    let note = harness.until_event(name, "DriftCorrected").await;
    assert_eq!(note, format!("ConfigMap default/{name} is missing"));
    assert_eq!(harness.text(name).await.as_deref(), Some("hello"));
}

#[tokio::test]
async fn drift_is_corrected_while_an_upgrade_waits() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    let spec = json!({"spec": {"dependencies": [{"name": "missing"}], "values": {"text": "two"}}});
    harness.patch("config", spec).await;
    harness.until_phase("config", Phase::Waiting).await;
    assert_protected(&harness, "config").await;
    let plugin = harness.until_phase("config", Phase::Waiting).await;
    assert_eq!(
        plugin.condition("Ready").unwrap().reason,
        "DependencyMissing"
    );
    harness.close().await;
}

#[tokio::test]
async fn drift_is_corrected_while_a_chart_cannot_be_fetched_or_the_spec_is_rejected() {
    let harness = Harness::new().await;
    for (name, change) in [
        ("one", json!({"spec": {"version": "9.9.9"}})),
        ("two", json!({"spec": {"dependencies": [{"name": "two"}]}})),
    ] {
        harness.create(name, "config", json!({})).await;
        harness.until_ready(name).await;
        harness.patch(name, change).await;
        harness
            .until(name, |plugin| plugin.is_observed() && !plugin.is_ready())
            .await;
        assert_protected(&harness, name).await;
        assert_ne!(harness.get(name).await.phase(), Phase::Ready);
    }
    harness.close().await;
}

/// Objects of the failed revision may be applied: the next attempt continues there.
#[tokio::test]
async fn a_failed_upgrade_is_not_reverted_by_the_correction_of_drift() {
    let harness = Harness::new().await;
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {text: {{ .Values.text }}}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {ports: [{port: {{ .Values.port | default 80 }}}]}
";
    charts::write(
        harness.charts.path(),
        "pair",
        "1.0.0",
        &[("pair.yaml", template)],
    );
    harness.create("pair", "pair", json!({"retries": 0})).await;
    harness.until_ready("pair").await;
    // A failed installation lists only what exists.
    let spec = json!({"retries": 0, "values": {"port": 99_999_999}});
    harness.create("broken", "pair", spec).await;
    let broken = harness.until_phase("broken", Phase::Failed).await;
    let inventory = broken.status.unwrap().inventory.into_iter();
    let kinds: Vec<String> = inventory.map(|entry| entry.kind).collect();
    assert_eq!(kinds, ["ConfigMap"]);
    let values = json!({"spec": {"values": {"text": "two", "port": 99_999_999}}});
    harness.patch("pair", values).await;
    harness.until_phase("pair", Phase::Failed).await;
    assert_eq!(harness.text("pair").await.as_deref(), Some("two"));
    harness.close().await;
}

#[tokio::test]
async fn an_upgrade_that_was_rolled_back_is_not_repeated_until_a_reconcile_is_requested() {
    let mut harness = Harness::new().await;
    let spec = json!({"rollback": true, "timeout": "2s"});
    harness.create("web", "web", spec).await;
    harness.until_ready("web").await;
    let values = json!({"spec": {"values": {"simulate": "never-ready", "text": "broken"}}});
    harness.patch("web", values).await;
    let message = harness.until_reason("web", "RolledBack").await;
    let advice = "not retried until the plugin or its inputs change; `outrigger plugin reconcile web -n default` retries now";
    assert!(message.ends_with(advice), "{message}");
    let status = harness.get("web").await.status.unwrap();
    assert_eq!((status.attempts, status.revision), (1, Some(3)));
    // Neither a restart nor another event is a reason to try again.
    harness.stop().await;
    harness.start(|_| {});
    let maps = harness.config_maps();
    maps.delete("web", &Default::default()).await.unwrap();
    harness.until_exists("v1", "ConfigMap", "web").await;
    let status = harness.get("web").await.status.unwrap();
    assert_eq!((status.attempts, status.revision), (1, Some(3)));
    assert_eq!(harness.text("web").await.as_deref(), Some("hello"));

    let request = json!({"metadata": {"annotations": {"outrigger.dev/reconcile": "now"}}});
    harness.patch("web", request).await;
    harness
        .until("web", |plugin| {
            let status = plugin.status.as_ref();
            status.is_some_and(|status| status.revision == Some(5))
        })
        .await;
    harness.close().await;
}

const CHILDREN: &str = "\
{{- range .Values.children }}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata:
  name: {{ . }}
spec:
  repo: {{ $.Values.repo }}
  chart: config
  enabled: true
{{- end }}
";

async fn with_children() -> Harness {
    let harness = Harness::new().await;
    let files = [("plugins.yaml", CHILDREN)];
    charts::write(harness.charts.path(), "bundle", "1.0.0", &files);
    let values = json!({"repo": harness.repo(), "children": ["one", "two"]});
    let spec = json!({"kind": "template", "values": values});
    harness.create("all", "bundle", spec).await;
    harness.until_ready("all").await;
    harness
}

/// Disables a plugin as `outrigger plugin disable` does.
async fn disable(harness: &Harness, name: &str) {
    let parameters = PatchParams {
        field_manager: Some("outrigger".to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"spec": {"enabled": false}}));
    let plugins = harness.plugins();
    plugins.patch(name, &parameters, &patch).await.unwrap();
    harness.until_phase(name, Phase::Disabled).await;
}

#[tokio::test]
async fn a_modified_child_is_reported_and_left_alone() {
    let harness = with_children().await;
    disable(&harness, "one").await;
    let all = harness.until("all", is_drifted).await;
    assert_eq!(
        all.condition("Applied").unwrap().message,
        "Plugin default/one was modified, and is left as it is; `outrigger plugin set all -n default --conflicts take` \
         restores it"
    );
    // The correction of another object neither reverts nor hides it.
    harness.delete("two").await;
    harness.until_event("all", "DriftCorrected").await;
    harness.until_ready("two").await;
    harness.until("all", is_drifted).await;
    assert!(!harness.get("one").await.spec.enabled);

    harness
        .patch("all", json!({"spec": {"conflicts": "take"}}))
        .await;
    harness.until_ready("one").await;
    harness
        .until("all", |plugin| plugin.is_ready() && !is_drifted(plugin))
        .await;
    harness.close().await;
}

#[tokio::test]
async fn a_modified_child_is_restored_if_conflicts_are_taken() {
    let harness = with_children().await;
    harness
        .patch("all", json!({"spec": {"conflicts": "take"}}))
        .await;
    harness.until_ready("all").await;
    let patch = json!({"spec": {"values": {"text": "mine"}, "enabled": false}});
    harness.patch("one", patch).await;
    harness.until_event("all", "DriftCorrected").await;
    harness.until_ready("one").await;
    harness.close().await;
}
