//! The status belongs to the controller: what someone else writes there is replaced by what was observed.

use kube::api::{Patch, PatchParams};
use outrigger_api::plugin::Phase;
use serde_json::{Value, json};

use crate::harness::Harness;

/// Writes to the status of a plugin, as `kubectl edit --subresource=status` does.
async fn edit_status(harness: &Harness, name: &str, status: Value) {
    let parameters = PatchParams {
        field_manager: Some("kubectl-edit".to_owned()),
        ..PatchParams::default()
    };
    let patch = json!({ "status": status });
    let patched = harness
        .plugins()
        .patch_status(name, &parameters, &Patch::Merge(&patch))
        .await;
    patched.unwrap();
}

/// A status that claims that all is well.
fn ready() -> Value {
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    });
    json!({"phase": "Ready", "conditions": [condition], "attempts": 0})
}

/// The plugin is not retried, so that nothing but the edit causes a reconcile.
async fn failed() -> Harness {
    let harness = Harness::new().await;
    let spec = json!({"version": "9.9.9", "retries": 0});
    harness.create("web", "config", spec).await;
    harness.until_phase("web", Phase::Failed).await;
    harness
}

#[tokio::test]
async fn a_failed_plugin_that_is_declared_ready_is_failed_again() {
    let harness = failed().await;
    let before = harness.get("web").await.status.unwrap();
    edit_status(&harness, "web", ready()).await;
    let is_restored = |plugin: &outrigger_api::plugin::Plugin| {
        plugin.phase() == Phase::Failed && !plugin.is_ready()
    };
    let after = harness.until("web", is_restored).await.status.unwrap();
    assert_eq!(after.attempts, before.attempts);
    let message = |status: &outrigger_api::plugin::PluginStatus| {
        let mut conditions = status.conditions.iter();
        let ready = conditions.find(|condition| condition.kind == "Ready");
        ready.unwrap().message.clone()
    };
    assert_eq!(message(&after), message(&before));
    harness.close().await;
}

#[tokio::test]
async fn a_failed_plugin_that_was_declared_ready_while_the_controller_was_down_is_failed_again() {
    let mut harness = failed().await;
    harness.stop().await;
    edit_status(&harness, "web", json!({"phase": "Ready"})).await;
    harness.start(|_| {});
    harness.until_phase("web", Phase::Failed).await;
    harness.close().await;
}

#[tokio::test]
async fn the_status_of_a_ready_plugin_is_restored() {
    let harness = Harness::new().await;
    harness.create("web", "config", json!({})).await;
    let before = harness.until_ready("web").await.status.unwrap();
    for edit in [
        json!({"phase": "Failed"}),
        json!({"version": "6.6.6", "notes": "hacked"}),
        json!({"inventory": [], "revision": 7}),
        json!({"observedGeneration": 9}),
    ] {
        edit_status(&harness, "web", edit).await;
        let is_restored = |plugin: &outrigger_api::plugin::Plugin| {
            let status = plugin.status.as_ref().unwrap();
            status.phase == Phase::Ready
                && status.version == before.version
                && status.notes == before.notes
                && status.inventory == before.inventory
                && status.revision == before.revision
                && status.observed_generation == before.observed_generation
        };
        harness.until("web", is_restored).await;
    }
    let events = harness.events("web").await;
    let reasons: Vec<&str> = events.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["Installed"], "{events:?}");
    harness.close().await;
}
