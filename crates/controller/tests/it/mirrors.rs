//! Objects of KubeGems and TKEStack: mirrored as plugins, with their own words in their status.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use outrigger_api::compat::Foreign;
use serde_json::{Value, json};

use crate::stage::{SOON, Stage};

async fn stage() -> Stage {
    Stage::with(|options| options.compat = true).await
}

fn api(stage: &Stage, kind: Foreign) -> Api<DynamicObject> {
    Api::default_namespaced_with(stage.client.clone(), &kind.resource())
}

async fn create(stage: &Stage, kind: Foreign, name: &str, spec: Value) {
    let mut object = DynamicObject::new(name, &kind.resource());
    object.data = json!({"spec": spec});
    let parameters = PostParams::default();
    let api = api(stage, kind);
    api.create(&parameters, &object).await.unwrap();
}

async fn change(stage: &Stage, kind: Foreign, name: &str, spec: Value) {
    let patch = json!({"spec": spec});
    let api = api(stage, kind);
    let parameters = PatchParams::default();
    let patch = Patch::Merge(&patch);
    api.patch(name, &parameters, &patch).await.unwrap();
}

/// Waits until the object is in a phase.
async fn until(stage: &Stage, kind: Foreign, name: &str, phase: &str) -> DynamicObject {
    let is_there = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["phase"] == phase)
    };
    let waited = await_condition(api(stage, kind), name, is_there);
    let waited = tokio::time::timeout(SOON, waited).await;
    let waited = waited.unwrap_or_else(|_| panic!("{name} does not become {phase}"));
    waited.unwrap().unwrap()
}

/// Removes the object and waits until its plugin and what that added are gone.
async fn remove(stage: &Stage, kind: Foreign, name: &str, plugin: &str) {
    let api = api(stage, kind);
    api.delete(name, &Default::default()).await.unwrap();
    stage.until_gone(plugin).await;
    assert!(stage.owned().await.is_empty());
}

#[tokio::test]
async fn the_kubegems_plugin_of_the_seed_is_mirrored_and_gets_its_status() {
    let stage = stage().await;
    let kind = Foreign::KubeGemsPlugin;
    let spec = json!({
        "enabled": true, "kind": "helm", "repo": stage.repo(), "name": "config", "version": "v1.0.0",
        "values": {"text": "from the seed"},
    });
    create(&stage, kind, "component-a", spec).await;
    until(&stage, kind, "component-a", "Installed").await;
    let text = stage.text("component-a").await;
    assert_eq!(text.as_deref(), Some("from the seed"));
    change(&stage, kind, "component-a", json!({"enabled": false})).await;
    until(&stage, kind, "component-a", "Removed").await;
    assert_eq!(stage.text("component-a").await, None);
    remove(&stage, kind, "component-a", "component-a").await;
    stage.close().await;
}

#[tokio::test]
async fn a_kubegems_bundle_is_mirrored_changed_and_switched_off() {
    let stage = stage().await;
    let kind = Foreign::KubeGemsBundle;
    let spec = json!({
        "kind": "helm", "url": stage.repo(), "chart": "config", "version": "1.0.0",
        "values": {"text": "first"},
    });
    create(&stage, kind, "bundle-a", spec).await;
    let bundle = until(&stage, kind, "bundle-a", "Installed").await;
    assert_eq!(bundle.data["status"]["version"], "1.0.0");
    assert_eq!(bundle.data["status"]["resources"][0]["kind"], "ConfigMap");
    change(
        &stage,
        kind,
        "bundle-a",
        json!({"values": {"text": "second"}}),
    )
    .await;
    let is_second = |plugin: &outrigger_api::plugin::Plugin| {
        let status = plugin.status.as_ref();
        status.is_some_and(|status| status.revision == Some(2))
    };
    stage.until("bundle-a", is_second).await;
    assert_eq!(stage.text("bundle-a").await.as_deref(), Some("second"));
    change(&stage, kind, "bundle-a", json!({"disabled": true})).await;
    until(&stage, kind, "bundle-a", "Disabled").await;
    remove(&stage, kind, "bundle-a", "bundle-a").await;
    stage.close().await;
}

#[tokio::test]
async fn a_tkestack_app_is_mirrored_and_one_with_a_password_is_refused_in_its_status() {
    let stage = stage().await;
    let kind = Foreign::TkestackApp;
    let spec = |chart: Value| {
        json!({
            "type": "HelmV3", "tenantID": "default", "name": "shop", "targetCluster": "global",
            "targetNamespace": "default", "chart": chart,
            "values": {"rawValuesType": "yaml", "rawValues": "text: from the app\n"},
        })
    };
    let chart = json!({
        "tenantID": "default", "chartGroupName": "public", "chartName": "config",
        "chartVersion": "1.0.0", "repoURL": stage.repo(),
    });
    create(&stage, kind, "app-x7k2p", spec(chart.clone())).await;
    let app = until(&stage, kind, "app-x7k2p", "Succeeded").await;
    assert_eq!(app.data["status"]["releaseStatus"], "deployed");
    assert_eq!(stage.text("shop").await.as_deref(), Some("from the app"));
    let plugins = stage.plugins().list(&Default::default()).await.unwrap();
    let plugin = plugins.items[0].name_any();
    remove(&stage, kind, "app-x7k2p", &plugin).await;

    let mut with_password = chart;
    with_password["repoPassword"] = "hunter2".into();
    create(&stage, kind, "app-bad", spec(with_password)).await;
    let app = until(&stage, kind, "app-bad", "InstallFailed").await;
    let message = app.data["status"]["message"].as_str().unwrap();
    assert!(message.contains("repoPassword"), "{message}");
    assert!(message.contains("secretRef"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    stage.close().await;
}
