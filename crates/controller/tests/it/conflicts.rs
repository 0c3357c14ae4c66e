//! Fields that another field manager changed: fail, keep or take. Suspended plugins and requested reconciles.

use kube::api::{Patch, PatchParams};
use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

async fn modify(harness: &Harness, name: &str, text: &str) {
    let parameters = PatchParams {
        field_manager: Some("someone-else".to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"data": {"text": text}}));
    let maps = harness.config_maps();
    maps.patch(name, &parameters, &patch).await.unwrap();
}

#[tokio::test]
async fn a_conflict_names_both_managers_and_the_way_out() {
    let harness = Harness::new().await;
    let spec = json!({"drift": "warn"});
    harness.create("config", "config", spec).await;
    harness.until_ready("config").await;
    modify(&harness, "config", "theirs").await;
    harness.until_event("config", "Drifted").await;
    let ours = json!({"spec": {"values": {"text": "ours"}}});
    harness.patch("config", ours).await;
    let message = harness.until_reason("config", "FieldConflict").await;
    for part in [
        "someone-else",
        ".data.text",
        "\"helm\"",
        "plugin set config -n default --conflicts take",
        "keep",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }

    let keep = json!({"spec": {"conflicts": "keep"}});
    harness.patch("config", keep).await;
    harness.until_ready("config").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("theirs"));
    let take = json!({"spec": {"conflicts": "take"}});
    harness.patch("config", take).await;
    harness.until_ready("config").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("ours"));
    harness.close().await;
}

#[tokio::test]
async fn kept_fields_are_not_drift() {
    let harness = Harness::new().await;
    let spec = json!({"conflicts": "keep", "drift": "warn"});
    harness.create("config", "config", spec).await;
    harness.until_ready("config").await;
    modify(&harness, "config", "theirs").await;
    harness.until_event("config", "Drifted").await;
    // Correcting drift leaves the field to its manager, too.
    let correct = json!({"spec": {"drift": "correct", "values": {"text": "ours"}}});
    harness.patch("config", correct).await;
    harness.until_ready("config").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("theirs"));
    harness.close().await;
}

#[tokio::test]
async fn a_suspended_plugin_is_left_alone_until_it_is_resumed() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    let suspend = |value: serde_json::Value| json!({"metadata": {"annotations": {"outrigger.dev/suspend": value}}});
    harness.patch("config", suspend(json!("true"))).await;
    harness.until_reason("config", "Suspended").await;
    assert_eq!(harness.get("config").await.phase(), Phase::Ready);
    modify(&harness, "config", "theirs").await;
    let changed = json!({"spec": {"values": {"text": "ours"}}});
    harness.patch("config", changed).await;
    let plugin = harness.until_phase("config", Phase::Waiting).await;
    assert_eq!(plugin.condition("Ready").unwrap().reason, "Suspended");
    assert_eq!(harness.text("config").await.as_deref(), Some("theirs"));
    let resume = json!({"metadata": {"annotations": {"outrigger.dev/suspend": null}}, "spec": {"conflicts": "take"}});
    harness.patch("config", resume).await;
    harness.until_ready("config").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("ours"));
    harness.close().await;
}

#[tokio::test]
async fn conditions_keep_the_generation_that_they_are_about_until_a_new_one_is_installed() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    let installed = harness.until_ready("config").await.metadata.generation;
    let suspend = json!({"metadata": {"annotations": {"outrigger.dev/suspend": "true"}}, "spec": {"values": {"text": "new"}}});
    let awaited = json!({"metadata": {"annotations": {"outrigger.dev/suspend": null}}, "spec": {"dependencies": [{"name": "none"}]}});
    for patch in [suspend, awaited] {
        harness.patch("config", patch).await;
        let plugin = harness.until_phase("config", Phase::Waiting).await;
        let generation = |kind: &str| plugin.condition(kind).unwrap().observed_generation;
        assert_eq!(generation("Ready"), plugin.metadata.generation);
        assert_ne!(plugin.metadata.generation, installed);
        for kind in ["Rendered", "Applied", "Healthy"] {
            assert_eq!(generation(kind), installed, "{kind}");
        }
    }
    harness
        .patch("config", json!({"spec": {"dependencies": null}}))
        .await;
    let plugin = harness.until_ready("config").await;
    for condition in plugin.status.unwrap().conditions {
        assert_eq!(condition.observed_generation, plugin.metadata.generation);
    }
    harness.close().await;
}

#[tokio::test]
async fn a_suspended_plugin_that_breaks_still_says_that_it_is_suspended() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    let suspend = json!({"metadata": {"annotations": {"outrigger.dev/suspend": "true"}}});
    harness.patch("config", suspend).await;
    harness.until_reason("config", "Suspended").await;
    let maps = harness.config_maps();
    maps.delete("config", &Default::default()).await.unwrap();
    let plugin = harness.until_phase("config", Phase::Degraded).await;
    let ready = plugin.condition("Ready").unwrap();
    assert_eq!(
        ready.message,
        "plugin is suspended; `outrigger plugin resume config -n default` continues; ConfigMap default/config: is missing"
    );
    assert_eq!(harness.text("config").await, None);
    harness.close().await;
}

#[tokio::test]
async fn the_release_of_a_suspended_plugin_stays_when_it_is_disabled_or_deleted() {
    let harness = Harness::new().await;
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    let suspend = json!({"metadata": {"annotations": {"outrigger.dev/suspend": "true"}}, "spec": {"enabled": false}});
    harness.patch("config", suspend).await;
    let plugin = harness.until_phase("config", Phase::Waiting).await;
    assert_eq!(
        plugin.condition("Ready").unwrap().message,
        "plugin is suspended, and the release is not removed; `outrigger plugin resume config -n default` continues"
    );
    assert_eq!(harness.text("config").await.as_deref(), Some("hello"));
    harness.delete("config").await;
    harness.until_deleted("config").await;
    let note = harness.until_event("config", "Orphaned").await;
    assert_eq!(
        note,
        "the plugin was suspended, so its release stays installed: ConfigMap default/config"
    );
    assert_eq!(harness.text("config").await.as_deref(), Some("hello"));
    // A new plugin of the same name adopts it.
    harness.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    harness.delete("config").await;
    harness.until_deleted("config").await;
    assert_eq!(harness.text("config").await, None);
    harness.close().await;
}

#[tokio::test]
async fn a_requested_reconcile_retries_what_was_given_up() {
    let harness = Harness::new().await;
    harness.create("late", "late", json!({"retries": 0})).await;
    harness.until_phase("late", Phase::Failed).await;
    let files = [("config.yaml", charts::CONFIG_MAP)];
    charts::write(harness.charts.path(), "late", "1.0.0", &files);
    let request = json!({"metadata": {"annotations": {"outrigger.dev/reconcile": "1"}}});
    harness.patch("late", request).await;
    let plugin = harness.until_ready("late").await;
    let handled = plugin.status.unwrap().reconcile_handled;
    assert_eq!(handled.as_deref(), Some("1"));
    harness.close().await;
}
