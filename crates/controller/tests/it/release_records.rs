//! Release records that others write: revisions of Helm, damaged records, foreign Secrets with the name of a record.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::{Value, json};

use crate::harness::Harness;

const RECORD: &str = "sh.helm.release.v1.web.v1";

fn secrets(harness: &Harness) -> Api<Secret> {
    Api::default_namespaced(harness.client.clone())
}

/// A ConfigMap of release `web` in a manifest.
fn config_map(name: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  text: hello\n"
    )
}

/// Deploys a revision as Helm does: with the ConfigMap of the plugin, and one more.
async fn deploy_as_helm(harness: &Harness, revision: u32, status: &str) {
    let now = Timestamp::now();
    let release = json!({
        "name": "web", "namespace": "default", "version": revision,
        "info": {"first_deployed": now, "last_deployed": now, "deleted": "", "status": status},
        "chart": {"metadata": {"name": "config", "version": "9.9.9"}},
        "manifest": config_map("web") + &config_map("one-more"), "config": {},
    });
    let map = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "one-more", "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "default"},
        },
        "data": {"text": "hello"},
    }))
    .unwrap();
    let parameters = PostParams {
        field_manager: Some("helm".to_owned()),
        ..PostParams::default()
    };
    let maps = harness.config_maps();
    maps.create(&parameters, &map).await.unwrap();
    let inner = serde_json::to_value(ByteString(release.to_string().into_bytes())).unwrap();
    let record = serde_json::from_value(json!({
        "metadata": {
            "name": format!("sh.helm.release.v1.web.v{revision}"),
            "labels": {"name": "web", "owner": "helm", "status": status, "version": revision.to_string()},
        },
        "type": "helm.sh/release.v1",
        "stringData": {"release": inner},
    }))
    .unwrap();
    let records = secrets(harness);
    records
        .create(&PostParams::default(), &record)
        .await
        .unwrap();
}

fn has_revision(revision: i64) -> impl Fn(&Plugin) -> bool {
    move |plugin| {
        let status = plugin.status.as_ref();
        plugin.phase() == Phase::Ready
            && status.is_some_and(|status| status.revision == Some(revision))
    }
}

async fn installed(spec: Value) -> Harness {
    let harness = Harness::new().await;
    harness.create("web", "config", spec).await;
    harness.until_ready("web").await;
    harness.until_event("web", "Installed").await;
    harness
}

#[tokio::test]
async fn a_revision_of_helm_that_leaves_the_objects_alone_is_upgraded_to_the_spec() {
    for status in ["deployed", "failed"] {
        let harness = installed(json!({})).await;
        deploy_as_helm(&harness, 2, status).await;
        harness.until("web", has_revision(3)).await;
        let one_more = harness.config_maps().get_opt("one-more").await.unwrap();
        assert!(one_more.is_none());
        let note = harness.until_event("web", "DriftCorrected").await;
        assert_eq!(note, format!("revision 2 of another tool is {status}"));
        harness.close().await;
    }
}

#[tokio::test]
async fn a_revision_of_helm_is_upgraded_to_the_spec_after_a_restart() {
    let mut harness = installed(json!({})).await;
    harness.stop().await;
    deploy_as_helm(&harness, 2, "deployed").await;
    harness.start(|_| {});
    harness.until("web", has_revision(3)).await;
    harness.close().await;
}

#[tokio::test]
async fn a_plugin_that_only_warns_is_not_ready_after_a_revision_of_helm() {
    let harness = installed(json!({"drift": "warn"})).await;
    deploy_as_helm(&harness, 2, "deployed").await;
    let plugin = harness.until_phase("web", Phase::Degraded).await;
    let message = &plugin.condition("Ready").unwrap().message;
    assert_eq!(
        *message,
        "release default/web: revision 2 of another tool is deployed"
    );
    harness.close().await;
}

async fn patch_record(harness: &Harness, patch: Value) {
    let api = secrets(harness);
    api.patch(RECORD, &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
}

/// The record as Helm finds it: by its labels.
async fn until_restored(harness: &Harness, data: &ByteString) {
    let is_restored = |secret: Option<&Secret>| {
        secret.is_some_and(|secret| {
            let labels = secret.metadata.labels.clone().unwrap_or_default();
            let label = |name: &str| labels.get(name).map(String::as_str);
            let length = secret.data.as_ref().and_then(|data| data.get("release"));
            let length = length.map_or(0, |data| data.0.len());
            (
                label("name"),
                label("owner"),
                label("version"),
                label("status"),
            ) == (Some("web"), Some("helm"), Some("1"), Some("deployed"))
                && length > data.0.len() / 2
        })
    };
    let restored = kube::runtime::wait::await_condition(secrets(harness), RECORD, is_restored);
    match tokio::time::timeout(crate::harness::TIMEOUT, restored).await {
        Ok(restored) => restored.map(|_| ()).unwrap(),
        Err(_) => panic!(
            "{:#?}",
            secrets(harness).get(RECORD).await.unwrap().metadata
        ),
    }
}

#[tokio::test]
async fn a_damaged_release_record_is_restored() {
    let garbage = |text: &str| json!({"data": {"release": ByteString(text.as_bytes().to_vec())}});
    let harness = installed(json!({})).await;
    let record = secrets(&harness).get(RECORD).await.unwrap();
    let data = record.data.unwrap()["release"].clone();
    let truncated = String::from_utf8(data.0[..data.0.len() / 2].to_vec()).unwrap();
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    let damages = [
        garbage("garbage"),
        garbage(&truncated),
        garbage(""),
        json!({"data": null}),
        labels(json!({"name": "other"})),
        labels(json!({"owner": "someone"})),
        labels(json!({"owner": null, "name": null, "status": null, "version": null})),
        labels(json!({"status": "superseded"})),
        labels(json!({"version": "7"})),
    ];
    for damage in damages {
        patch_record(&harness, damage.clone()).await;
        until_restored(&harness, &data).await;
        let plugin = harness.until("web", has_revision(1)).await;
        assert_eq!(plugin.status.unwrap().attempts, 0, "{damage}");
    }
    harness.delete("web").await;
    harness.until_deleted("web").await;
    assert_eq!(harness.release_objects().await, [""; 0]);
    harness.close().await;
}

#[tokio::test]
async fn a_release_record_that_was_damaged_while_the_controller_was_down_is_restored() {
    let mut harness = installed(json!({})).await;
    let record = secrets(&harness).get(RECORD).await.unwrap();
    let data = record.data.unwrap()["release"].clone();
    harness.stop().await;
    patch_record(
        &harness,
        json!({"data": {"release": ByteString(b"garbage".to_vec())}}),
    )
    .await;
    harness.start(|_| {});
    until_restored(&harness, &data).await;
    harness.close().await;
}

#[tokio::test]
async fn a_plugin_with_a_damaged_record_can_be_upgraded_and_removed() {
    let garbage = json!({"data": {"release": ByteString(b"garbage".to_vec())}});
    let harness = installed(json!({"drift": "ignore"})).await;
    patch_record(&harness, garbage.clone()).await;
    harness
        .patch("web", json!({"spec": {"values": {"text": "two"}}}))
        .await;
    harness
        .until("web", |plugin| plugin.is_observed() && plugin.is_ready())
        .await;
    assert_eq!(harness.text("web").await.as_deref(), Some("two"));
    patch_record(&harness, garbage).await;
    harness.delete("web").await;
    harness.until_deleted("web").await;
    assert_eq!(harness.release_objects().await, [""; 0]);
    harness.close().await;
}

#[tokio::test]
async fn a_foreign_secret_with_the_name_of_a_record_is_named_and_left_alone() {
    let harness = Harness::new().await;
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": RECORD}, "stringData": {"password": "hunter2"},
    }))
    .unwrap();
    let api = secrets(&harness);
    let created = api.create(&PostParams::default(), &secret).await;
    let before = created.unwrap();
    harness.create("web", "config", json!({})).await;
    let message = harness.until_reason("web", "ApplyFailed").await;
    assert!(
        message.starts_with("Secret default/sh.helm.release.v1.web.v1 has the name of a release record, but is not one"),
        "{message}"
    );
    harness.delete("web").await;
    harness.until_deleted("web").await;
    let after = secrets(&harness).get(RECORD).await.unwrap();
    assert_eq!(before.metadata.uid, after.metadata.uid);
    harness.close().await;
}

/// A record of release `bomb` that decompresses to more than Outrigger reads. Gzip of 33 MiB of spaces, as Helm stores it.
fn bomb() -> Secret {
    let spaces = vec![b' '; 33 << 20];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &spaces).unwrap();
    let text = serde_json::to_value(ByteString(encoder.finish().unwrap())).unwrap();
    serde_json::from_value(json!({
        "metadata": {"name": "sh.helm.release.v1.bomb.v1", "labels": {
            "owner": "helm", "name": "bomb", "version": "1", "status": "deployed",
        }},
        "type": "helm.sh/release.v1", "stringData": {"release": text},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_record_that_decompresses_to_too_much_fails_its_plugin_only() {
    let harness = Harness::new().await;
    secrets(&harness)
        .create(&PostParams::default(), &bomb())
        .await
        .unwrap();
    harness.create("bomb", "config", json!({})).await;
    harness.create("web", "config", json!({})).await;
    harness.until_ready("web").await;
    let plugin = harness.until_phase("bomb", Phase::Failed).await;
    let message = &plugin.condition("Ready").unwrap().message;
    for word in ["sh.helm.release.v1.bomb.v1", "32 MiB", "delete Secret"] {
        assert!(message.contains(word), "{message}");
    }
    secrets(&harness)
        .delete("sh.helm.release.v1.bomb.v1", &Default::default())
        .await
        .unwrap();
    harness.until_ready("bomb").await;
    harness.close().await;
}
