//! Another tool, such as Helm, that changes the release at the same time.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::{Value, json};

use crate::harness::Harness;

/// The record of a revision of release `web`, as Helm writes it.
fn record(revision: u32, status: &str, since: Timestamp) -> Secret {
    let release = json!({
        "name": "web", "namespace": "default", "version": revision,
        "info": {"first_deployed": since, "last_deployed": since, "deleted": since, "status": status},
        "chart": {"metadata": {"name": "config", "version": "1.0.0"}},
        "manifest": "", "config": {"text": "by helm"},
    });
    let inner = serde_json::to_value(ByteString(release.to_string().into_bytes())).unwrap();
    serde_json::from_value(json!({
        "metadata": {
            "name": format!("sh.helm.release.v1.web.v{revision}"),
            "labels": {"name": "web", "owner": "helm", "status": status, "version": revision.to_string()},
        },
        "type": "helm.sh/release.v1",
        "stringData": {"release": inner},
    }))
    .unwrap()
}

fn secrets(harness: &Harness) -> Api<Secret> {
    Api::default_namespaced(harness.client.clone())
}

/// The status of each revision.
async fn statuses(harness: &Harness) -> Vec<(String, String)> {
    let records = ListParams::default().labels("owner=helm,name=web");
    let list = secrets(harness).list(&records).await.unwrap();
    let label = |secret: &Secret, name: &str| secret.labels()[name].clone();
    let mut statuses: Vec<_> = list
        .items
        .iter()
        .map(|secret| (label(secret, "version"), label(secret, "status")))
        .collect();
    statuses.sort();
    statuses
}

async fn set_status(harness: &Harness, revision: u32, status: &str, since: Timestamp) {
    let record = record(revision, status, since);
    let api = secrets(harness);
    let name = record.name_any();
    let current = api.get(&name).await.unwrap();
    let mut record = record;
    record.metadata.resource_version = current.metadata.resource_version;
    api.replace(&name, &PostParams::default(), &record)
        .await
        .unwrap();
}

fn changed(text: &str) -> Value {
    json!({"spec": {"values": {"text": text}}})
}

#[tokio::test]
async fn an_upgrade_by_helm_in_progress_is_waited_for_and_superseded_when_it_ends() {
    let harness = Harness::new().await;
    harness.create("web", "config", json!({})).await;
    harness.until_ready("web").await;
    let now = Timestamp::now();
    let pending = record(2, "pending-upgrade", now);
    secrets(&harness)
        .create(&PostParams::default(), &pending)
        .await
        .unwrap();
    harness.patch("web", changed("ours")).await;
    let message = harness.until_reason("web", "OperationInProgress").await;
    assert!(
        message.starts_with(
            "another tool is changing release default/web: revision 2 is pending-upgrade since "
        ),
        "{message}"
    );
    assert_eq!(harness.get("web").await.phase(), Phase::Waiting);
    let pending = |revision: &str, status: &str| (revision.to_owned(), status.to_owned());
    assert_eq!(
        statuses(&harness).await,
        [pending("1", "deployed"), pending("2", "pending-upgrade")]
    );

    // Helm is killed between its two writes, so that two revisions are deployed.
    set_status(&harness, 2, "deployed", now).await;
    let plugin = harness.until_ready("web").await;
    assert_eq!(plugin.status.unwrap().revision, Some(3));
    assert_eq!(harness.text("web").await.as_deref(), Some("ours"));
    assert_eq!(
        statuses(&harness).await,
        [
            pending("1", "superseded"),
            pending("2", "superseded"),
            pending("3", "deployed")
        ]
    );
    harness.close().await;
}

#[tokio::test]
async fn what_helm_deployed_is_reported_as_drift_when_it_is_corrected() {
    let harness = Harness::new().await;
    harness.create("web", "config", json!({})).await;
    harness.until_ready("web").await;
    let now = Timestamp::now();
    let pending = record(2, "pending-upgrade", now);
    secrets(&harness)
        .create(&PostParams::default(), &pending)
        .await
        .unwrap();
    harness.until_reason("web", "OperationInProgress").await;
    set_status(&harness, 2, "deployed", now).await;
    harness
        .until("web", |plugin| {
            let revision = plugin.status.as_ref().and_then(|status| status.revision);
            revision == Some(3) && plugin.is_ready()
        })
        .await;
    let note = harness.until_event("web", "DriftCorrected").await;
    assert!(note.contains("revision 2"), "{note}");
    harness.close().await;
}

#[tokio::test]
async fn an_operation_of_helm_that_was_interrupted_is_taken_over() {
    let harness = Harness::new().await;
    // Only the new spec makes it act.
    let spec = json!({"drift": "warn"});
    harness.create("web", "config", spec).await;
    harness.until_ready("web").await;
    let long_ago = Timestamp::now() - SignedDuration::from_mins(6);
    let pending = record(2, "pending-upgrade", long_ago);
    secrets(&harness)
        .create(&PostParams::default(), &pending)
        .await
        .unwrap();
    harness.patch("web", changed("ours")).await;
    let plugin = harness.until_ready("web").await;
    assert_eq!(plugin.status.unwrap().revision, Some(3));
    let of = |revision: &str, status: &str| (revision.to_owned(), status.to_owned());
    assert_eq!(
        statuses(&harness).await,
        [
            of("1", "superseded"),
            of("2", "failed"),
            of("3", "deployed")
        ]
    );
    harness.close().await;
}

#[tokio::test]
async fn a_release_that_helm_uninstalls_is_installed_again_when_helm_is_done() {
    let harness = Harness::new().await;
    harness.create("web", "config", json!({})).await;
    harness.until_ready("web").await;
    let now = Timestamp::now();
    set_status(&harness, 1, "uninstalling", now).await;
    harness
        .config_maps()
        .delete("web", &Default::default())
        .await
        .unwrap();
    let message = harness.until_reason("web", "OperationInProgress").await;
    assert!(
        message.contains("revision 1 is uninstalling since"),
        "{message}"
    );
    assert_eq!(harness.text("web").await, None);
    let name = record(1, "uninstalling", now).name_any();
    secrets(&harness)
        .delete(&name, &Default::default())
        .await
        .unwrap();
    harness.until_ready("web").await;
    assert_eq!(harness.text("web").await.as_deref(), Some("hello"));
    harness.close().await;
}

#[tokio::test]
async fn a_release_that_helm_uninstalled_is_installing_and_not_upgrading() {
    let harness = Harness::new().await;
    harness.create("web", "web", json!({})).await;
    harness.until_ready("web").await;
    // No Pod can be created any more, so that the phase lasts.
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}},
    });
    let quotas = harness.objects("v1", "ResourceQuota");
    let quota = serde_json::from_value(quota).unwrap();
    quotas.create(&PostParams::default(), &quota).await.unwrap();
    let now = Timestamp::now();
    set_status(&harness, 1, "uninstalling", now).await;
    for (api_version, kind) in [("v1", "ConfigMap"), ("apps/v1", "Deployment")] {
        let objects = harness.objects(api_version, kind);
        objects.delete("web", &Default::default()).await.unwrap();
    }
    harness.until_reason("web", "OperationInProgress").await;
    let name = record(1, "uninstalling", now).name_any();
    let records = secrets(&harness);
    records.delete(&name, &Default::default()).await.unwrap();
    let is_in_progress =
        |plugin: &Plugin| matches!(plugin.phase(), Phase::Installing | Phase::Upgrading);
    let plugin = harness.until("web", is_in_progress).await;
    assert_eq!(plugin.phase(), Phase::Installing);
    harness.close().await;
}

/// Release `web` as Helm leaves it after `helm uninstall` and `helm install`: revision 1, but with another chart version
/// and other values.
async fn install_as_helm(harness: &Harness, text: &str) {
    let now = Timestamp::now();
    let manifest = format!(
        "---\n# Source: config/templates/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  text: {text:?}\n"
    );
    let release = json!({
        "name": "web", "namespace": "default", "version": 1,
        "info": {"first_deployed": now, "last_deployed": now, "deleted": "", "status": "deployed"},
        "chart": {"metadata": {"name": "config", "version": "9.9.9"}},
        "manifest": manifest, "config": {"text": text},
    });
    let mut record = record(1, "deployed", now);
    let inner = serde_json::to_value(ByteString(release.to_string().into_bytes())).unwrap();
    record.string_data = serde_json::from_value(json!({"release": inner})).unwrap();
    let records = secrets(harness);
    let name = record.name_any();
    records.delete(&name, &Default::default()).await.unwrap();
    records
        .create(&PostParams::default(), &record)
        .await
        .unwrap();
    let maps = harness.config_maps();
    maps.delete("web", &Default::default()).await.unwrap();
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "web", "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "default"},
        },
        "data": {"text": text},
    });
    let map = serde_json::from_value(map).unwrap();
    let parameters = PostParams {
        field_manager: Some("helm".to_owned()),
        ..PostParams::default()
    };
    maps.create(&parameters, &map).await.unwrap();
}

#[tokio::test]
async fn a_record_of_helm_with_our_revision_number_is_upgraded_to_the_spec_and_not_restored() {
    let harness = Harness::new().await;
    let spec = json!({"values": {"text": "ours"}});
    harness.create("web", "config", spec).await;
    harness.until_ready("web").await;
    let suspended =
        |value: Value| json!({"metadata": {"annotations": {"outrigger.dev/suspend": value}}});
    harness.patch("web", suspended(json!("true"))).await;
    harness.until_reason("web", "Suspended").await;
    install_as_helm(&harness, "by helm").await;
    harness.patch("web", suspended(Value::Null)).await;
    let plugin = harness
        .until("web", |plugin| {
            let status = plugin.status.as_ref();
            plugin.phase() == Phase::Ready
                && status.is_some_and(|status| status.revision == Some(2))
        })
        .await;
    assert_eq!(plugin.status.unwrap().version.as_deref(), Some("1.0.0"));
    assert_eq!(harness.text("web").await.as_deref(), Some("ours"));
    harness.close().await;
}
