//! Target clusters and service accounts.

use std::net::SocketAddr;

use kube::Client;
use kube::api::PostParams;
use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::Phase;
use outrigger_apiserver::server::Server;
use outrigger_apiserver::transport::{Listener, write_kubeconfig};
use serde_json::json;

use crate::harness::{Harness, objects, start_server};

pub(crate) async fn create_secret(harness: &Harness, name: &str, kubeconfig: &str) {
    let secret = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"kubeconfig": kubeconfig},
    }))
    .unwrap();
    harness
        .objects("v1", "Secret")
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
}

/// Starts the server of a remote cluster. Returns it with its kubeconfig and its address.
pub(crate) async fn serve_remote(harness: &Harness) -> (Server, String, SocketAddr) {
    let remote = start_server().await;
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), false)
        .await
        .unwrap();
    let address = listener.address();
    remote.serve(listener);
    let path = harness.charts.path().join("kubeconfig");
    write_kubeconfig(&path, address, remote.credentials()).unwrap();
    let kubeconfig = fs_err::read_to_string(&path).unwrap();
    (remote, kubeconfig, address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_installed_in_the_cluster_of_its_kubeconfig() {
    let harness = Harness::new().await;
    let (remote, kubeconfig, _) = serve_remote(&harness).await;

    harness
        .create("web", "web", json!({"cluster": {"secretName": "remote"}}))
        .await;
    let message = harness.until_reason("web", "ClusterMissing").await;
    assert!(message.contains("Secret default/remote"), "{message}");
    create_secret(&harness, "remote", &kubeconfig).await;
    harness.until_ready("web").await;
    let client = Client::new(remote.service(), "default");
    let deployment = objects(&client, "apps/v1", "Deployment")
        .get_opt("web")
        .await
        .unwrap();
    assert!(deployment.is_some());
    assert_eq!(harness.text("web").await, None);

    // Without the Secret the cluster is unreachable, but the plugin can be removed.
    harness
        .objects("v1", "Secret")
        .delete("remote", &Default::default())
        .await
        .unwrap();
    harness.delete("web").await;
    harness.until_deleted("web").await;
    let note = harness.until_event("web", "Orphaned").await;
    assert!(note.contains("Deployment default/web"), "{note}");
    harness.close().await;
    remote.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ready_plugin_whose_cluster_does_not_respond_is_degraded() {
    let harness = Harness::new().await;
    let (remote, kubeconfig, address) = serve_remote(&harness).await;
    create_secret(&harness, "remote", &kubeconfig).await;
    harness
        .create("web", "web", json!({"cluster": {"secretName": "remote"}}))
        .await;
    harness.until_ready("web").await;

    remote.close().await;
    let message = harness.until_reason("web", "ClusterUnreachable").await;
    assert!(message.contains("Secret default/remote"), "{message}");
    assert!(message.contains(&address.to_string()), "{message}");
    let plugin = harness.get("web").await;
    assert_eq!(plugin.phase(), Phase::Degraded);
    let healthy = plugin.condition("Healthy").unwrap();
    assert_eq!(healthy.status, ConditionStatus::Unknown);
    harness.close().await;
}

#[tokio::test]
async fn a_kubeconfig_that_would_run_programs_is_rejected() {
    let harness = Harness::new().await;
    let evil = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: https://127.0.0.1:1}}]\n\
        users: [{name: a, user: {exec: {command: evil, apiVersion: v1}}}]\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n";
    create_secret(&harness, "evil", evil).await;
    harness
        .create("web", "web", json!({"cluster": {"secretName": "evil"}}))
        .await;
    let message = harness.until_reason("web", "BadCluster").await;
    assert!(message.contains("must not use exec"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn the_permissions_of_the_service_account_apply() {
    let harness = Harness::new().await;
    let account = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "limited"},
    }))
    .unwrap();
    harness
        .objects("v1", "ServiceAccount")
        .create(&Default::default(), &account)
        .await
        .unwrap();
    harness
        .create("config", "config", json!({"serviceAccountName": "limited"}))
        .await;
    let message = harness.until_reason("config", "Forbidden").await;
    assert!(
        message.contains("system:serviceaccount:default:limited"),
        "{message}"
    );
    assert_eq!(harness.text("config").await, None);

    let rbac = "rbac.authorization.k8s.io/v1";
    let role = serde_json::from_value(json!({
        "apiVersion": rbac, "kind": "Role", "metadata": {"name": "limited"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]}],
    }))
    .unwrap();
    harness
        .objects(rbac, "Role")
        .create(&Default::default(), &role)
        .await
        .unwrap();
    let binding = serde_json::from_value(json!({
        "apiVersion": rbac, "kind": "RoleBinding", "metadata": {"name": "limited"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "limited"},
        "subjects": [{"kind": "ServiceAccount", "name": "limited", "namespace": "default"}],
    }))
    .unwrap();
    harness
        .objects(rbac, "RoleBinding")
        .create(&Default::default(), &binding)
        .await
        .unwrap();
    harness.until_ready("config").await;
    assert_eq!(harness.text("config").await.as_deref(), Some("hello"));
    harness.close().await;
}
