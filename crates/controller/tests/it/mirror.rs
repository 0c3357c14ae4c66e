//! Objects of KubeGems and TKEStack are mirrored as plugins, and get a status in their own format.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use outrigger_api::compat::ForeignKind;
use serde_json::{Value, json};

use crate::harness::{Harness, TIMEOUT};

async fn compat_harness() -> Harness {
    Harness::with(|options| options.compat = true).await
}

fn api(harness: &Harness, kind: ForeignKind) -> Api<DynamicObject> {
    Api::default_namespaced_with(harness.client.clone(), &kind.resource())
}

async fn create(harness: &Harness, kind: ForeignKind, name: &str, spec: Value) {
    let mut object = DynamicObject::new(name, &kind.resource());
    object.data = json!({"spec": spec});
    let parameters = PostParams::default();
    let api = api(harness, kind);
    api.create(&parameters, &object).await.unwrap();
}

async fn change(harness: &Harness, kind: ForeignKind, name: &str, spec: Value) {
    let patch = json!({"spec": spec});
    let api = api(harness, kind);
    let parameters = PatchParams::default();
    let patch = Patch::Merge(&patch);
    api.patch(name, &parameters, &patch).await.unwrap();
}

/// Waits until the object has a phase.
async fn until(harness: &Harness, kind: ForeignKind, name: &str, phase: &str) -> DynamicObject {
    let has_phase = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["phase"] == phase)
    };
    let object = await_condition(api(harness, kind), name, has_phase);
    let object = tokio::time::timeout(TIMEOUT, object).await;
    let object = object.unwrap_or_else(|_| panic!("{name} does not become {phase}"));
    object.unwrap().unwrap()
}

/// Deletes the object and waits until its plugin is deleted and uninstalled.
async fn remove(harness: &Harness, kind: ForeignKind, name: &str, plugin: &str) {
    let api = api(harness, kind);
    api.delete(name, &Default::default()).await.unwrap();
    harness.until_deleted(plugin).await;
    assert!(harness.release_objects().await.is_empty());
}

#[tokio::test]
async fn a_kubegems_plugin_is_mirrored_and_gets_its_status() {
    let harness = compat_harness().await;
    let kind = ForeignKind::KubeGemsPlugin;
    let spec = json!({
        "enabled": true, "kind": "helm", "repo": harness.repo(), "name": "config", "version": "v1.0.0",
        "values": {"text": "from the plugin"},
    });
    create(&harness, kind, "component-a", spec).await;
    until(&harness, kind, "component-a", "Installed").await;
    let text = harness.text("component-a").await;
    assert_eq!(text.as_deref(), Some("from the plugin"));
    change(&harness, kind, "component-a", json!({"enabled": false})).await;
    until(&harness, kind, "component-a", "Removed").await;
    assert_eq!(harness.text("component-a").await, None);
    remove(&harness, kind, "component-a", "component-a").await;
    harness.close().await;
}

#[tokio::test]
async fn a_kubegems_bundle_is_mirrored_changed_and_disabled() {
    let harness = compat_harness().await;
    let kind = ForeignKind::KubeGemsBundle;
    let spec = json!({
        "kind": "helm", "url": harness.repo(), "chart": "config", "version": "1.0.0",
        "values": {"text": "first"},
    });
    create(&harness, kind, "bundle-a", spec).await;
    let bundle = until(&harness, kind, "bundle-a", "Installed").await;
    assert_eq!(bundle.data["status"]["version"], "1.0.0");
    assert_eq!(bundle.data["status"]["resources"][0]["kind"], "ConfigMap");
    change(
        &harness,
        kind,
        "bundle-a",
        json!({"values": {"text": "second"}}),
    )
    .await;
    let is_second = |plugin: &outrigger_api::plugin::Plugin| {
        let status = plugin.status.as_ref();
        status.is_some_and(|status| status.revision == Some(2))
    };
    harness.until("bundle-a", is_second).await;
    assert_eq!(harness.text("bundle-a").await.as_deref(), Some("second"));
    change(&harness, kind, "bundle-a", json!({"disabled": true})).await;
    until(&harness, kind, "bundle-a", "Disabled").await;
    remove(&harness, kind, "bundle-a", "bundle-a").await;
    harness.close().await;
}

#[tokio::test]
async fn a_tkestack_app_is_mirrored_and_one_with_a_password_is_rejected() {
    let harness = compat_harness().await;
    let kind = ForeignKind::TkestackApp;
    let spec = |chart: Value| {
        json!({
            "type": "HelmV3", "tenantID": "default", "name": "shop", "targetCluster": "global",
            "targetNamespace": "default", "chart": chart,
            "values": {"rawValuesType": "yaml", "rawValues": "text: from the app\n"},
        })
    };
    let chart = json!({
        "tenantID": "default", "chartGroupName": "public", "chartName": "config",
        "chartVersion": "1.0.0", "repoURL": harness.repo(),
    });
    create(&harness, kind, "app-x7k2p", spec(chart.clone())).await;
    let app = until(&harness, kind, "app-x7k2p", "Succeeded").await;
    assert_eq!(app.data["status"]["releaseStatus"], "deployed");
    assert_eq!(harness.text("shop").await.as_deref(), Some("from the app"));
    let plugins = harness.plugins().list(&Default::default()).await.unwrap();
    let plugin = plugins.items[0].name_any();
    remove(&harness, kind, "app-x7k2p", &plugin).await;

    let mut with_password = chart;
    with_password["repoPassword"] = "hunter2".into();
    create(&harness, kind, "app-bad", spec(with_password)).await;
    let app = until(&harness, kind, "app-bad", "InstallFailed").await;
    let message = app.data["status"]["message"].as_str().unwrap();
    assert!(message.contains("repoPassword"), "{message}");
    assert!(message.contains("secretRef"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn a_tkestack_cluster_is_mirrored_and_gets_its_status() {
    use outrigger_api::compat::tkestack_cluster;
    let harness = Harness::with(|options| {
        options.compat = true;
        options.clusters = Some(outrigger_controller::ClusterOptions {
            connect: std::sync::Arc::new(outrigger_testing::fake_machines::FakeMachines::default()),
            ..outrigger_controller::ClusterOptions::default()
        });
    })
    .await;
    let api: Api<DynamicObject> =
        Api::all_with(harness.client.clone(), &tkestack_cluster::resource());
    let until = async |name: &str, phase: &str| {
        let has_phase = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"]["phase"] == phase)
        };
        let waiting = await_condition(api.clone(), name, has_phase);
        tokio::time::timeout(TIMEOUT, waiting)
            .await
            .unwrap()
            .unwrap()
            .unwrap()
    };
    let create = async |name: &str, machine: Value| {
        let mut object = DynamicObject::new(name, &tkestack_cluster::resource());
        object
            .labels_mut()
            .insert("location".to_owned(), "xa".to_owned());
        object.data =
            json!({"spec": {"type": "Baremetal", "version": "1.18.3", "machines": [machine]}});
        api.create(&PostParams::default(), &object).await.unwrap();
    };
    create(
        "cls-a",
        json!({"ip": "10.0.0.9", "username": "root", "password": "eA=="}),
    )
    .await;
    let object = until("cls-a", "Running").await;
    assert_eq!(object.data["status"]["version"], "1.18.3");
    create("cls-b", json!({"ip": "10.0.0.8", "passwort": "eA=="})).await;
    let refused = until("cls-b", "Failed").await;
    let message = refused.data["status"]["message"].as_str().unwrap();
    assert!(message.contains("passwort"), "{message}");
    // The mirror goes with the object, after it was removed from its machines.
    api.delete("cls-a", &Default::default()).await.unwrap();
    let clusters: Api<outrigger_api::cluster::Cluster> = Api::all(harness.client.clone());
    let gone = |cluster: Option<&outrigger_api::cluster::Cluster>| cluster.is_none();
    let waiting = await_condition(clusters, "cls-a", gone);
    tokio::time::timeout(TIMEOUT, waiting)
        .await
        .unwrap()
        .unwrap();
    harness.close().await;
}

#[tokio::test]
async fn a_mirror_that_is_deleted_alone_uninstalls_nothing() {
    let harness = compat_harness().await;
    let kind = ForeignKind::KubeGemsPlugin;
    let spec = json!({
        "enabled": true, "kind": "helm", "repo": harness.repo(), "name": "config", "version": "v1.0.0",
        "values": {"text": "first"},
    });
    create(&harness, kind, "component-a", spec).await;
    until(&harness, kind, "component-a", "Installed").await;
    let plugins = harness.plugins();
    plugins
        .delete("component-a", &Default::default())
        .await
        .unwrap();
    // It is still changed with its origin.
    change(
        &harness,
        kind,
        "component-a",
        json!({"values": {"text": "second"}}),
    )
    .await;
    let is_second = |plugin: &outrigger_api::plugin::Plugin| {
        let status = plugin.status.as_ref();
        status.is_some_and(|status| status.revision == Some(2))
    };
    harness.until("component-a", is_second).await;
    assert_eq!(harness.text("component-a").await.as_deref(), Some("second"));
    remove(&harness, kind, "component-a", "component-a").await;
    harness.close().await;
}

#[tokio::test]
async fn a_cluster_whose_mirror_is_deleted_alone_is_not_removed_from_its_machines() {
    use outrigger_api::cluster::Cluster;
    use outrigger_api::compat::tkestack_cluster;
    let machines = outrigger_testing::fake_machines::FakeMachines::default();
    let connect = std::sync::Arc::new(machines.clone());
    let harness = Harness::with(|options| {
        options.compat = true;
        options.clusters = Some(outrigger_controller::ClusterOptions {
            connect,
            ..outrigger_controller::ClusterOptions::default()
        });
    })
    .await;
    let origins: Api<DynamicObject> =
        Api::all_with(harness.client.clone(), &tkestack_cluster::resource());
    let clusters: Api<Cluster> = Api::all(harness.client.clone());
    let until_version = async |version: &str| {
        let is_installed = |cluster: Option<&Cluster>| {
            let status = cluster.and_then(|cluster| cluster.status.as_ref());
            status.is_some_and(|status| status.version.as_deref() == Some(version))
        };
        let waiting = await_condition(clusters.clone(), "cls-a", is_installed);
        tokio::time::timeout(TIMEOUT, waiting)
            .await
            .unwrap()
            .unwrap();
    };
    let mut origin = DynamicObject::new("cls-a", &tkestack_cluster::resource());
    let machine = json!({"ip": "10.0.0.9", "username": "root", "password": "eA=="});
    origin.data =
        json!({"spec": {"type": "Baremetal", "version": "1.18.3", "machines": [machine]}});
    origins
        .create(&PostParams::default(), &origin)
        .await
        .unwrap();
    until_version("1.18.3").await;
    clusters.delete("cls-a", &Default::default()).await.unwrap();
    let patch = json!({"spec": {"version": "1.19.0"}});
    let patch = Patch::Merge(&patch);
    origins
        .patch("cls-a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    until_version("1.19.0").await;
    origins.delete("cls-a", &Default::default()).await.unwrap();
    let waiting = await_condition(clusters, "cls-a", |cluster: Option<&Cluster>| {
        cluster.is_none()
    });
    tokio::time::timeout(TIMEOUT, waiting)
        .await
        .unwrap()
        .unwrap();
    harness.close().await;
}

/// Of an object with a mirror, and of one that cannot be converted and has none.
#[tokio::test]
async fn the_edited_status_of_a_mirrored_object_is_restored() {
    let harness = compat_harness().await;
    let kind = ForeignKind::KubeGemsBundle;
    let spec =
        json!({"kind": "helm", "url": harness.repo(), "chart": "config", "version": "1.0.0"});
    create(&harness, kind, "bundle-a", spec).await;
    let spec = json!({"kind": "unknown", "url": harness.repo(), "chart": "config"});
    create(&harness, kind, "bundle-b", spec).await;
    for (name, phase, lie) in [
        (
            "bundle-a",
            "Installed",
            json!({"phase": "Failed", "message": "hacked", "version": "6.6.6"}),
        ),
        (
            "bundle-b",
            "Failed",
            json!({"phase": "Installed", "message": ""}),
        ),
        ("bundle-b", "Failed", json!(null)),
    ] {
        let before = until(&harness, kind, name, phase).await.data["status"].clone();
        let patch = json!({"status": lie});
        let patch = Patch::Merge(&patch);
        let patched = api(&harness, kind)
            .patch_status(name, &PatchParams::default(), &patch)
            .await;
        assert_ne!(patched.unwrap().data["status"], before);
        let is_restored = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"] == before)
        };
        let restored = await_condition(api(&harness, kind), name, is_restored);
        let restored = tokio::time::timeout(TIMEOUT, restored).await;
        assert!(
            restored.is_ok(),
            "{name}: {:#?}",
            api(&harness, kind).get(name).await
        );
    }
    harness.close().await;
}
