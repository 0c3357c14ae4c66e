//! Switching off and removing: protection, cascade, force.

use kube::ResourceExt as _;
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::condition::Truth;
use outrigger_api::plugin::Phase;
use serde_json::json;

use crate::stage::Stage;

async fn chain() -> Stage {
    let stage = Stage::new().await;
    stage.create("base", "config", json!({})).await;
    stage
        .create("mid", "config", json!({"dependencies": [{"name": "base"}]}))
        .await;
    stage
        .create("top", "config", json!({"dependencies": [{"name": "mid"}]}))
        .await;
    stage.until_ready("top").await;
    stage
}

#[tokio::test]
async fn who_others_depend_on_stays_and_says_why() {
    let stage = chain().await;
    stage
        .patch("base", json!({"spec": {"enabled": false}}))
        .await;
    let message = stage.until_reason("base", "DependantsRemain").await;
    assert!(message.contains("others depend on it: mid;"), "{message}");
    let plugin = stage.get("base").await;
    assert_eq!(plugin.condition("Removable").unwrap().status, Truth::False);
    assert_eq!(stage.text("base").await.as_deref(), Some("hello"));
    stage.delete("base").await;
    stage
        .patch("mid", json!({"spec": {"dependencies": null}}))
        .await;
    stage.until_gone("base").await;
    assert_eq!(stage.text("base").await, None);
    stage.close().await;
}

#[tokio::test]
async fn switched_on_again_it_is_as_if_nobody_had_asked() {
    let stage = chain().await;
    stage
        .patch("base", json!({"spec": {"enabled": false}}))
        .await;
    stage.until_reason("base", "DependantsRemain").await;
    stage
        .patch("base", json!({"spec": {"enabled": true}}))
        .await;
    let plugin = stage
        .until("base", |plugin| {
            plugin.is_ready() && plugin.condition("Removable").is_none()
        })
        .await;
    assert_eq!(plugin.status.unwrap().revision, Some(1));
    stage.close().await;
}

#[tokio::test]
async fn a_cascade_switches_off_dependants_first() {
    let stage = chain().await;
    let patch = json!({"metadata": {"annotations": {CASCADE: "true"}}, "spec": {"enabled": false}});
    stage.patch("base", patch).await;
    stage.until_phase("base", Phase::Disabled).await;
    for name in ["mid", "top"] {
        assert_eq!(stage.get(name).await.phase(), Phase::Disabled);
    }
    assert_eq!(stage.owned().await, [""; 0]);
    stage.close().await;
}

#[tokio::test]
async fn a_cascade_removes_dependants_first() {
    let stage = chain().await;
    stage
        .patch(
            "base",
            json!({"metadata": {"annotations": {CASCADE: "true"}}}),
        )
        .await;
    stage.delete("base").await;
    stage.until_gone("base").await;
    stage.until_gone("mid").await;
    stage.until_gone("top").await;
    assert_eq!(stage.owned().await, [""; 0]);
    stage.close().await;
}

#[tokio::test]
async fn what_is_required_is_not_removed() {
    let stage = Stage::new().await;
    stage
        .create("base", "config", json!({"required": true}))
        .await;
    stage.until_ready("base").await;
    stage.delete("base").await;
    stage.until_reason("base", "Required").await;
    assert_eq!(stage.text("base").await.as_deref(), Some("hello"));
    stage
        .patch("base", json!({"spec": {"required": false}}))
        .await;
    stage.until_gone("base").await;
    stage.close().await;
}

#[tokio::test]
async fn force_is_the_way_out_when_something_cannot_be_removed() {
    let stage = Stage::new().await;
    stage
        .create("stuck", "config", json!({"timeout": "1s"}))
        .await;
    stage.until_ready("stuck").await;
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    let maps = stage.config_maps();
    maps.patch(
        "stuck",
        &Default::default(),
        &kube::api::Patch::Merge(&held),
    )
    .await
    .unwrap();
    stage.delete("stuck").await;
    let plugin = stage
        .until("stuck", |plugin| {
            plugin
                .condition("Ready")
                .is_some_and(|ready| ready.message.contains("tried again"))
        })
        .await;
    assert_eq!(plugin.phase(), Phase::Removing);
    stage
        .patch(
            "stuck",
            json!({"metadata": {"annotations": {FORCE: "true"}}}),
        )
        .await;
    stage.until_gone("stuck").await;
    let note = stage.until_event("stuck", "Orphaned").await;
    assert!(note.contains("ConfigMap default/stuck"), "{note}");
    let free = json!({"metadata": {"finalizers": null}});
    maps.patch(
        "stuck",
        &Default::default(),
        &kube::api::Patch::Merge(&free),
    )
    .await
    .unwrap();
    stage.close().await;
}

#[tokio::test]
async fn what_is_to_be_kept_stays() {
    let stage = Stage::new().await;
    let kept = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kept
  annotations: {helm.sh/resource-policy: keep}
data: {text: precious}
";
    crate::charts::write(
        stage.charts.path(),
        "keeper",
        "1.0.0",
        &[("kept.yaml", kept)],
    );
    stage.create("keeper", "keeper", json!({})).await;
    let plugin = stage.until_ready("keeper").await;
    assert!(plugin.status.unwrap().inventory[0].keep);
    stage.delete("keeper").await;
    stage.until_gone("keeper").await;
    assert_eq!(stage.text("kept").await.as_deref(), Some("precious"));
    stage.close().await;
}

#[tokio::test]
async fn a_plugin_that_never_got_anywhere_goes_at_once() {
    let stage = Stage::new().await;
    stage.create("lost", "no-such-chart", json!({})).await;
    stage.until_reason("lost", "ChartNotFound").await;
    assert!(stage.get("lost").await.finalizers().is_empty());
    stage.delete("lost").await;
    stage.until_gone("lost").await;
    stage.close().await;
}
