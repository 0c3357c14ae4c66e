//! The status belongs to the controller: what someone else writes there is replaced by what was observed.

use kube::api::{Patch, PatchParams};
use outrigger_api::plugin::{Phase, Plugin, PluginStatus};
use serde_json::{Value, json};

use crate::harness::Harness;

/// Writes to the status of a plugin, as `kubectl edit --subresource=status` does.
async fn edit_status(harness: &Harness, name: &str, status: Value) {
    edit_status_as(harness, "kubectl-edit", name, status).await;
}

async fn edit_status_as(harness: &Harness, manager: &str, name: &str, status: Value) {
    let parameters = PatchParams {
        field_manager: Some(manager.to_owned()),
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
    let is_restored = |plugin: &Plugin| plugin.phase() == Phase::Failed && !plugin.is_ready();
    let after = harness.until("web", is_restored).await.status.unwrap();
    assert_eq!(after.attempts, before.attempts);
    let message = |status: &PluginStatus| {
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
        let is_restored = |plugin: &Plugin| {
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

/// Waits until the status is as it was, apart from times.
async fn until_restored(harness: &Harness, before: &PluginStatus) {
    let is_restored =
        |plugin: &Plugin| plugin.status.as_ref().map(untimed) == Some(untimed(before));
    harness.until("web", is_restored).await;
}

fn untimed(status: &PluginStatus) -> PluginStatus {
    let mut status = status.clone();
    for condition in &mut status.conditions {
        condition.last_transition_time.clear();
    }
    status
}

async fn assert_only_installed(harness: &Harness) {
    let events = harness.events("web").await;
    let reasons: Vec<&str> = events.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["Installed"], "{events:?}");
}

/// Managed fields do not tell who removed a field.
#[tokio::test]
async fn what_is_removed_from_the_status_is_restored() {
    let harness = Harness::new().await;
    harness.create("web", "web", json!({})).await;
    let before = harness.until_ready("web").await.status.unwrap();
    for edit in [
        json!({"conditions": null}),
        json!({"inventory": null}),
        json!({"version": null, "chart": null, "revision": null}),
        json!({"inputDigest": null}),
        json!(null),
    ] {
        edit_status(&harness, "web", edit).await;
        until_restored(&harness, &before).await;
    }
    assert_only_installed(&harness).await;
    harness.close().await;
}

#[tokio::test]
async fn an_edit_in_the_name_of_the_controller_is_replaced_by_one_write() {
    let harness = Harness::new().await;
    harness.create("web", "config", json!({})).await;
    let before = harness.until_ready("web").await.status.unwrap();
    harness.until_event("web", "Installed").await;
    harness.connection.take_requests();
    let edit = json!({"phase": "Failed", "version": "6.6.6", "conditions": []});
    edit_status_as(&harness, "outrigger", "web", edit).await;
    until_restored(&harness, &before).await;
    // Installed after all that the edit caused.
    harness
        .create("last", "config", json!({"dependencies": [{"name": "web"}]}))
        .await;
    harness.until_ready("last").await;
    let requests = harness.connection.take_requests();
    let is_write =
        |request: &&String| request.starts_with("PATCH") && request.contains("/plugins/web");
    assert_eq!(requests.iter().filter(is_write).count(), 1, "{requests:#?}");
    harness.close().await;
}

#[tokio::test]
async fn a_status_that_was_edited_while_the_controller_was_down_is_restored() {
    let mut harness = Harness::new().await;
    harness.create("web", "web", json!({})).await;
    let before = harness.until_ready("web").await.status.unwrap();
    for edit in [
        json!({"inventory": [], "notes": "hacked"}),
        json!({"version": "6.6.6", "appVersion": "6"}),
        json!({"kind": "manifests", "namespace": "elsewhere", "releaseName": "other"}),
        json!({"revision": 7, "recordVersion": "1"}),
        json!({"conditions": []}),
        json!({"inventory": null}),
        json!({"chart": null, "version": null}),
        json!({"revision": null}),
        json!(null),
    ] {
        harness.stop().await;
        edit_status(&harness, "web", edit).await;
        harness.start(|_| {});
        until_restored(&harness, &before).await;
    }
    assert_eq!(harness.release_objects().await.len(), 3);
    harness.close().await;
}

#[tokio::test]
async fn a_dependent_is_not_installed_because_someone_declares_its_dependency_ready() {
    let harness = failed().await;
    let dependencies = json!({"dependencies": [{"name": "web"}]});
    harness.create("app", "config", dependencies).await;
    harness.until_phase("app", Phase::Waiting).await;
    edit_status(&harness, "web", ready()).await;
    harness
        .until("web", |plugin| plugin.phase() == Phase::Failed)
        .await;
    // Installed after all that the edit caused.
    harness.create("last", "config", json!({})).await;
    harness.until_ready("last").await;
    assert_eq!(harness.text("app").await, None);
    harness.close().await;
}
