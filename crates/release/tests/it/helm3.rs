//! Releases that Helm 3 applied client-side are upgraded and uninstalled.

use outrigger_release::{Action, Options};
use serde_json::{Value, json};

use crate::charts::chart;
use crate::harness::Harness;

const MAP: &str = "/api/v1/namespaces/default/configmaps/m";

/// The result of an install by Helm 3: an object created client-side, and a record without apply method.
async fn install_as_helm_3(harness: &Harness) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "m",
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "default"},
        },
        "data": {"old": "1", "both": "1"},
    });
    let path = "/api/v1/namespaces/default/configmaps?fieldManager=helm";
    harness
        .send("POST", path, "application/json", &object)
        .await;
    let record = json!({
        "name": "web", "namespace": "default", "version": 1,
        "info": {
            "first_deployed": "2026-01-01T00:00:00.5+01:00", "last_deployed": "2026-01-01T00:00:00.5+01:00",
            "deleted": "", "description": "Install complete", "status": "deployed",
        },
        "chart": {"metadata": {"name": "web", "version": "0.9.0", "apiVersion": "v2"}, "templates": [], "values": {}},
        "manifest": "---\n# Source: web/templates/m.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\ndata:\n  old: \"1\"\n  both: \"1\"\n",
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {
            "name": "sh.helm.release.v1.web.v1",
            "labels": {"owner": "helm", "name": "web", "status": "deployed", "version": "1", "team": "red"},
        },
        "stringData": {"release": base64(&record.to_string())},
    });
    harness
        .send(
            "POST",
            "/api/v1/namespaces/default/secrets",
            "application/json",
            &secret,
        )
        .await;
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn an_upgrade_removes_fields_that_helm_3_set_and_the_chart_no_longer_contains() {
    let harness = Harness::start().await;
    install_as_helm_3(&harness).await;
    let chart = chart(&[(
        "templates/m.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\ndata:\n  both: \"2\"\n",
    )]);
    let options = Options::default();
    let outcome = harness.deploy(&chart, &json!({}), &options).await.unwrap();
    assert_eq!((outcome.action, outcome.revision), (Action::Upgrade, 2));
    let map: Value = harness.get(MAP).await.unwrap();
    assert_eq!(map["data"], json!({"both": "2"}));
    let managers = map["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(managers.len(), 1);
    assert_eq!(managers[0]["operation"], "Apply");
    assert_eq!(harness.statuses().await, ["1 superseded", "2 deployed"]);
    let record = outrigger_release::get_release(&harness.cluster, &harness.id, None).await;
    let record = record.unwrap();
    // User-defined labels and the time of the first deployment are kept.
    assert_eq!(record.labels["team"], "red");
    let first = record.info.first_deployed.unwrap().to_string();
    assert_eq!(first, "2025-12-31T23:00:00.5Z");
    harness.stop().await;
}

#[tokio::test]
async fn a_release_of_helm_3_is_uninstalled() {
    let harness = Harness::start().await;
    install_as_helm_3(&harness).await;
    harness.uninstall(&Options::default()).await.unwrap();
    assert!(harness.objects().await.is_empty());
    assert!(harness.statuses().await.is_empty());
    harness.stop().await;
}
