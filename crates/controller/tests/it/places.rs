//! Other clusters, other accounts, other systems' objects, other leaders.

use std::time::Duration;

use kube::Client;
use kube::api::PostParams;
use outrigger_apiserver::transport::{Listener, write_kubeconfig};
use outrigger_controller::lease;
use serde_json::json;

use crate::harness::{Harness, objects, open};

async fn secret(harness: &Harness, name: &str, kubeconfig: &str) {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_goes_to_the_cluster_of_its_kubeconfig() {
    let harness = Harness::new().await;
    let far = open().await;
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), false)
        .await
        .unwrap();
    let address = listener.address();
    far.serve(listener).unwrap();
    let path = harness.charts.path().join("kubeconfig");
    write_kubeconfig(&path, address, far.credentials()).unwrap();
    let kubeconfig = fs_err::read_to_string(&path).unwrap();

    harness
        .create("web", "web", json!({"cluster": {"secretName": "far"}}))
        .await;
    let message = harness.until_reason("web", "ClusterMissing").await;
    assert!(message.contains("Secret default/far"), "{message}");
    secret(&harness, "far", &kubeconfig).await;
    harness.until_ready("web").await;
    let there = Client::new(far.service(), "default");
    let deployment = objects(&there, "apps/v1", "Deployment")
        .get_opt("web")
        .await
        .unwrap();
    assert!(deployment.is_some());
    assert_eq!(harness.text("web").await, None);

    // The Secret is gone, and with it the way: the plugin can still go.
    harness
        .objects("v1", "Secret")
        .delete("far", &Default::default())
        .await
        .unwrap();
    harness.delete("web").await;
    harness.until_gone("web").await;
    let note = harness.until_event("web", "Orphaned").await;
    assert!(note.contains("Deployment default/web"), "{note}");
    harness.close().await;
    far.close().await;
}

#[tokio::test]
async fn a_kubeconfig_that_would_run_programs_is_refused() {
    let harness = Harness::new().await;
    let evil = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: https://127.0.0.1:1}}]\n\
        users: [{name: a, user: {exec: {command: evil, apiVersion: v1}}}]\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n";
    secret(&harness, "evil", evil).await;
    harness
        .create("web", "web", json!({"cluster": {"secretName": "evil"}}))
        .await;
    let message = harness.until_reason("web", "BadCluster").await;
    assert!(message.contains("must not use exec"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn a_service_account_without_rights_can_do_nothing_and_with_rights_can() {
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

fn leader(identity: &str) -> lease::Options {
    lease::Options {
        lasts: Duration::from_secs(1),
        every: Duration::from_millis(50),
        ..lease::Options::new("default", identity)
    }
}

#[tokio::test]
async fn of_two_controllers_one_works_and_the_other_takes_over() {
    let mut harness = Harness::with(|options| options.lease = Some(leader("one"))).await;
    harness.create("first", "config", json!({})).await;
    harness.until_ready("first").await;
    let leases = harness.objects("coordination.k8s.io/v1", "Lease");
    let holder = async || {
        let lease = leases.get("outrigger-controller").await.unwrap();
        lease.data["spec"]["holderIdentity"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(holder().await.as_deref(), Some("one"));
    let first = harness.detach();
    harness.start(|options| options.lease = Some(leader("two")));
    first.stop().await;
    harness.create("second", "config", json!({})).await;
    harness.until_ready("second").await;
    assert_eq!(holder().await.as_deref(), Some("two"));
    harness.close().await;
}
