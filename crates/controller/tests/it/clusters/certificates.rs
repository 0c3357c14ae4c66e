//! The renewal of certificates: all are renewed, then one machine after the other is restarted; for each request once, and resumed
//! after failures.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use outrigger_api::annotation::{RENEW_CERTIFICATES, RETRY};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_testing::embedded_api::{Fault, Loss};
use serde_json::json;

use super::fixture::{FIRST, Fixture, SECOND};

const KUBECONFIG: &str = "users: [{user: {client-key-data: bmV3}}]";
const RENEWAL: [&str; 4] = [
    "EnsureRenewCertificates@10.0.0.1",
    "EnsureRenewCertificates@10.0.0.2",
    "EnsureRestartControlPlane@10.0.0.1",
    "EnsureRestartControlPlane@10.0.0.2",
];

/// What ran on machines since the cluster was created. What ran at the same time is sorted.
fn scripts(fixture: &Fixture) -> Vec<String> {
    let mut all = fixture.hooks();
    all.retain(|it| it.starts_with("Ensure"));
    all.chunk_by_mut(|a, b| is_renewal(a) && is_renewal(b))
        .for_each(<[String]>::sort);
    all
}

fn is_renewal(script: &str) -> bool {
    script.starts_with("EnsureRenewCertificates")
}

async fn request(fixture: &Fixture, value: &str) {
    let annotations = json!({RENEW_CERTIFICATES: value});
    let patch = json!({"metadata": {"annotations": annotations}});
    fixture.patch("a", patch).await;
}

async fn until_renewed(fixture: &Fixture, value: &str) -> Cluster {
    fixture
        .until("a", |cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.phase == ClusterPhase::Running
                && status.requests.get("RenewCertificates").map(String::as_str) == Some(value)
        })
        .await
}

#[tokio::test]
async fn certificates_are_renewed_on_one_machine_after_the_other_once_for_each_request() {
    let fixture = Fixture::baremetal().await;
    fixture
        .machines
        .answer("cat /etc/kubernetes/admin.conf", KUBECONFIG);
    request(&fixture, "1").await;
    let cluster = until_renewed(&fixture, "1").await;
    assert_eq!(scripts(&fixture), RENEWAL);
    let status = cluster.status.unwrap();
    assert_eq!(status.version.as_deref(), Some("1.0.0"));
    let secret = status.kubeconfig_secret_ref.unwrap();
    let api: Api<Secret> = Api::namespaced(fixture.harness.client.clone(), &secret.namespace);
    let secret = api.get(&secret.name).await.unwrap();
    assert_eq!(secret.data.unwrap()["kubeconfig"].0, KUBECONFIG.as_bytes());
    // The same value again, and any other change, do nothing.
    request(&fixture, "1").await;
    fixture
        .patch("a", json!({"spec": {"displayName": "A"}}))
        .await;
    fixture.until_running("a").await;
    assert_eq!(scripts(&fixture), RENEWAL);
    request(&fixture, "2").await;
    until_renewed(&fixture, "2").await;
    assert_eq!(scripts(&fixture).len(), 8);
    fixture.close().await;
}

#[tokio::test]
async fn a_renewal_stops_at_the_first_machine_that_fails_and_goes_on_there() {
    let fixture = Fixture::baremetal().await;
    fixture
        .machines
        .answer("cat /etc/kubernetes/admin.conf", KUBECONFIG);
    fixture.machines.hang(FIRST, "EnsureRestartControlPlane");
    request(&fixture, "1").await;
    let begun = fixture
        .machines
        .until_begun(FIRST, "EnsureRestartControlPlane");
    begun.await;
    let renewed = fixture
        .machines
        .until_begun(SECOND, "EnsureRenewCertificates");
    renewed.await;
    let renewing = fixture.get("a").await.status.unwrap();
    assert_eq!(renewing.phase, ClusterPhase::Renewing);
    assert_eq!(scripts(&fixture), RENEWAL[..3]);
    fixture.machines.fail(FIRST, "EnsureRestartControlPlane", 1);
    fixture.machines.release();
    let is_tried_again = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.message.contains("EnsureRestartControlPlane")
    };
    fixture.until("a", is_tried_again).await;
    assert_eq!(scripts(&fixture), RENEWAL[..3]);
    let retry = json!({"metadata": {"annotations": {RETRY: "now"}}});
    fixture.patch("a", retry).await;
    until_renewed(&fixture, "1").await;
    let mut expected = RENEWAL.to_vec();
    expected.insert(2, RENEWAL[2]);
    assert_eq!(scripts(&fixture), expected);
    fixture.close().await;
}

#[tokio::test]
async fn nothing_is_renewed_unless_all_machines_answer() {
    let fixture = Fixture::baremetal().await;
    fixture
        .machines
        .answer("cat /etc/kubernetes/admin.conf", KUBECONFIG);
    fixture.machines.set_offline(SECOND, true);
    request(&fixture, "1").await;
    let names_machine = |cluster: &Cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.message.starts_with("EnsureRenewalPreflight") && status.message.contains("10-0-0-2")
    };
    fixture.until("a", names_machine).await;
    assert_eq!(scripts(&fixture), [""; 0]);
    fixture.machines.set_offline(SECOND, false);
    fixture
        .patch("a", json!({"metadata": {"annotations": {RETRY: "now"}}}))
        .await;
    until_renewed(&fixture, "1").await;
    assert_eq!(scripts(&fixture), RENEWAL);
    fixture.close().await;
}

#[tokio::test]
async fn a_renewal_survives_a_controller_that_is_killed_at_any_write() {
    for after in (1..20).step_by(3) {
        let mut fixture = Fixture::baremetal().await;
        fixture
            .machines
            .answer("cat /etc/kubernetes/admin.conf", KUBECONFIG);
        let loss = Loss::Response;
        fixture
            .harness
            .connection
            .inject(Fault::Hang { after, loss });
        request(&fixture, "1").await;
        let hit = fixture.harness.connection.fault_hit();
        let finished = until_renewed(&fixture, "1");
        tokio::select! {
            () = hit => {}
            _ = finished => {}
        }
        fixture.harness.kill();
        fixture.harness.connection.inject(Fault::None);
        fixture.start();
        until_renewed(&fixture, "1").await;
        assert_eq!(scripts(&fixture), RENEWAL, "after {after}");
        fixture.close().await;
    }
}
