//! Disabling and deleting: dependents, cascade, force, keep.

use kube::ResourceExt as _;
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

async fn chain() -> Harness {
    let harness = Harness::new().await;
    harness.create("base", "config", json!({})).await;
    harness
        .create("mid", "config", json!({"dependencies": [{"name": "base"}]}))
        .await;
    harness
        .create("top", "config", json!({"dependencies": [{"name": "mid"}]}))
        .await;
    harness.until_ready("top").await;
    harness
}

#[tokio::test]
async fn removing_a_dependency_is_blocked_while_dependents_exist() {
    let harness = chain().await;
    harness
        .patch("base", json!({"spec": {"enabled": false}}))
        .await;
    let message = harness.until_reason("base", "DependentsRemain").await;
    assert!(
        message.contains("other plugins depend on it: mid;"),
        "{message}"
    );
    let plugin = harness.get("base").await;
    assert_eq!(
        plugin.condition("Removable").unwrap().status,
        ConditionStatus::False
    );
    assert_eq!(harness.text("base").await.as_deref(), Some("hello"));
    harness.delete("base").await;
    harness
        .patch("mid", json!({"spec": {"dependencies": null}}))
        .await;
    harness.until_deleted("base").await;
    assert_eq!(harness.text("base").await, None);
    harness.close().await;
}

#[tokio::test]
async fn enabling_again_cancels_a_blocked_removal() {
    let harness = chain().await;
    harness
        .patch("base", json!({"spec": {"enabled": false}}))
        .await;
    harness.until_reason("base", "DependentsRemain").await;
    harness
        .patch("base", json!({"spec": {"enabled": true}}))
        .await;
    let plugin = harness
        .until("base", |plugin| {
            plugin.is_ready() && plugin.condition("Removable").is_none()
        })
        .await;
    assert_eq!(plugin.status.unwrap().revision, Some(1));
    harness.close().await;
}

#[tokio::test]
async fn a_cascade_disables_dependents_first() {
    let harness = chain().await;
    let patch = json!({"metadata": {"annotations": {CASCADE: "true"}}, "spec": {"enabled": false}});
    harness.patch("base", patch).await;
    harness.until_phase("base", Phase::Disabled).await;
    for name in ["mid", "top"] {
        assert_eq!(harness.get(name).await.phase(), Phase::Disabled);
    }
    assert_eq!(harness.release_objects().await, [""; 0]);
    harness.close().await;
}

#[tokio::test]
async fn a_cascade_deletes_dependents_first() {
    let harness = chain().await;
    harness
        .patch(
            "base",
            json!({"metadata": {"annotations": {CASCADE: "true"}}}),
        )
        .await;
    harness.delete("base").await;
    harness.until_deleted("base").await;
    harness.until_deleted("mid").await;
    harness.until_deleted("top").await;
    assert_eq!(harness.release_objects().await, [""; 0]);
    harness.close().await;
}

#[tokio::test]
async fn a_required_plugin_is_not_removed() {
    let harness = Harness::new().await;
    harness
        .create("base", "config", json!({"required": true}))
        .await;
    harness.until_ready("base").await;
    harness.delete("base").await;
    harness.until_reason("base", "Required").await;
    let note = harness.until_event("base", "RemovalBlocked").await;
    assert!(note.starts_with("plugin is required"), "{note}");
    assert_eq!(harness.text("base").await.as_deref(), Some("hello"));
    harness
        .patch("base", json!({"spec": {"required": false}}))
        .await;
    harness.until_deleted("base").await;
    harness.close().await;
}

#[tokio::test]
async fn force_removes_a_plugin_whose_objects_cannot_be_deleted() {
    let harness = Harness::new().await;
    harness
        .create("stuck", "config", json!({"timeout": "1s"}))
        .await;
    harness.until_ready("stuck").await;
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    let maps = harness.config_maps();
    maps.patch(
        "stuck",
        &Default::default(),
        &kube::api::Patch::Merge(&held),
    )
    .await
    .unwrap();
    harness.delete("stuck").await;
    let plugin = harness
        .until("stuck", |plugin| {
            plugin
                .condition("Ready")
                .is_some_and(|ready| ready.message.contains("retrying"))
        })
        .await;
    assert_eq!(plugin.phase(), Phase::Removing);
    harness
        .patch(
            "stuck",
            json!({"metadata": {"annotations": {FORCE: "true"}}}),
        )
        .await;
    harness.until_deleted("stuck").await;
    let note = harness.until_event("stuck", "Orphaned").await;
    assert!(note.contains("ConfigMap default/stuck"), "{note}");
    let free = json!({"metadata": {"finalizers": null}});
    maps.patch(
        "stuck",
        &Default::default(),
        &kube::api::Patch::Merge(&free),
    )
    .await
    .unwrap();
    harness.close().await;
}

#[tokio::test]
async fn objects_with_policy_keep_are_kept() {
    let harness = Harness::new().await;
    let kept = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kept
  annotations: {helm.sh/resource-policy: keep}
data: {text: precious}
";
    charts::write(
        harness.charts.path(),
        "keeper",
        "1.0.0",
        &[("kept.yaml", kept)],
    );
    harness.create("keeper", "keeper", json!({})).await;
    let plugin = harness.until_ready("keeper").await;
    assert!(plugin.status.unwrap().inventory[0].keep);
    harness.delete("keeper").await;
    harness.until_deleted("keeper").await;
    assert_eq!(harness.text("kept").await.as_deref(), Some("precious"));
    harness.close().await;
}

#[tokio::test]
async fn a_plugin_that_was_never_installed_is_deleted_at_once() {
    let harness = Harness::new().await;
    harness.create("lost", "no-such-chart", json!({})).await;
    harness.until_reason("lost", "ChartNotFound").await;
    assert!(harness.get("lost").await.finalizers().is_empty());
    harness.delete("lost").await;
    harness.until_deleted("lost").await;
    harness.close().await;
}

#[tokio::test]
async fn a_release_belongs_to_one_plugin_and_passes_on_when_that_is_gone() {
    let harness = Harness::new().await;
    harness.create("first", "config", json!({})).await;
    harness.until_ready("first").await;
    let release = json!({"releaseName": "first", "values": {"text": "second"}});
    harness.create("a-second", "config", release).await;
    let message = harness.until_reason("a-second", "ReleaseConflict").await;
    assert!(message.contains("belongs to plugin first"), "{message}");
    assert_eq!(harness.text("first").await.as_deref(), Some("hello"));

    let disabled = json!({"spec": {"enabled": false}});
    harness.patch("a-second", disabled).await;
    harness.until_phase("a-second", Phase::Disabled).await;
    assert_eq!(harness.text("first").await.as_deref(), Some("hello"));
    assert!(harness.get("first").await.is_ready());

    let enabled = json!({"spec": {"enabled": true}});
    harness.patch("a-second", enabled).await;
    harness.until_reason("a-second", "ReleaseConflict").await;
    harness.delete("first").await;
    harness.until_ready("a-second").await;
    assert_eq!(harness.text("first").await.as_deref(), Some("second"));
    harness.close().await;
}

#[tokio::test]
async fn the_annotations_of_a_removal_do_not_apply_to_the_next_one() {
    let harness = chain().await;
    let forced = json!({
        "metadata": {"annotations": {FORCE: "true", CASCADE: "true", "example.com/other": "kept"}},
        "spec": {"enabled": false},
    });
    harness.patch("base", forced).await;
    let plugin = harness.until_phase("base", Phase::Disabled).await;
    let annotations: Vec<&String> = plugin.annotations().keys().collect();
    assert_eq!(annotations, ["example.com/other"]);
    let enabled = json!({"spec": {"enabled": true}});
    harness.patch("base", enabled).await;
    harness.until_ready("base").await;
    let disabled = json!({"spec": {"enabled": false}});
    harness.patch("base", disabled).await;
    harness.until_reason("base", "DependentsRemain").await;
    harness.close().await;
}
