//! Other clusters, other accounts, other systems' objects, other leaders.

use std::time::Duration;

use kube::Client;
use kube::api::PostParams;
use outrigger_apiserver::transport::{Listener, write_kubeconfig};
use outrigger_controller::lease;
use serde_json::json;

use crate::stage::{Stage, objects, open};

async fn secret(stage: &Stage, name: &str, kubeconfig: &str) {
    let secret = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"kubeconfig": kubeconfig},
    }))
    .unwrap();
    stage
        .objects("v1", "Secret")
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_goes_to_the_cluster_of_its_kubeconfig() {
    let stage = Stage::new().await;
    let far = open().await;
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), false)
        .await
        .unwrap();
    let address = listener.address();
    far.serve(listener).unwrap();
    let path = stage.charts.path().join("kubeconfig");
    write_kubeconfig(&path, address, far.credentials()).unwrap();
    let kubeconfig = fs_err::read_to_string(&path).unwrap();

    stage
        .create("web", "web", json!({"cluster": {"secretName": "far"}}))
        .await;
    let message = stage.until_reason("web", "ClusterMissing").await;
    assert!(message.contains("Secret default/far"), "{message}");
    secret(&stage, "far", &kubeconfig).await;
    stage.until_ready("web").await;
    let there = Client::new(far.service(), "default");
    let deployment = objects(&there, "apps/v1", "Deployment")
        .get_opt("web")
        .await
        .unwrap();
    assert!(deployment.is_some());
    assert_eq!(stage.text("web").await, None);

    // The Secret is gone, and with it the way: the plugin can still go.
    stage
        .objects("v1", "Secret")
        .delete("far", &Default::default())
        .await
        .unwrap();
    stage.delete("web").await;
    stage.until_gone("web").await;
    let note = stage.until_event("web", "Orphaned").await;
    assert!(note.contains("Deployment default/web"), "{note}");
    stage.close().await;
    far.close().await;
}

#[tokio::test]
async fn a_kubeconfig_that_would_run_programs_is_refused() {
    let stage = Stage::new().await;
    let evil = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: https://127.0.0.1:1}}]\n\
        users: [{name: a, user: {exec: {command: evil, apiVersion: v1}}}]\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n";
    secret(&stage, "evil", evil).await;
    stage
        .create("web", "web", json!({"cluster": {"secretName": "evil"}}))
        .await;
    let message = stage.until_reason("web", "BadCluster").await;
    assert!(message.contains("must not use exec"), "{message}");
    stage.close().await;
}

#[tokio::test]
async fn a_service_account_without_rights_can_do_nothing_and_with_rights_can() {
    let stage = Stage::new().await;
    let account = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "limited"},
    }))
    .unwrap();
    stage
        .objects("v1", "ServiceAccount")
        .create(&Default::default(), &account)
        .await
        .unwrap();
    stage
        .create("config", "config", json!({"serviceAccountName": "limited"}))
        .await;
    let message = stage.until_reason("config", "Forbidden").await;
    assert!(
        message.contains("system:serviceaccount:default:limited"),
        "{message}"
    );
    assert_eq!(stage.text("config").await, None);

    let rbac = "rbac.authorization.k8s.io/v1";
    let role = serde_json::from_value(json!({
        "apiVersion": rbac, "kind": "Role", "metadata": {"name": "limited"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]}],
    }))
    .unwrap();
    stage
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
    stage
        .objects(rbac, "RoleBinding")
        .create(&Default::default(), &binding)
        .await
        .unwrap();
    stage.until_ready("config").await;
    assert_eq!(stage.text("config").await.as_deref(), Some("hello"));
    stage.close().await;
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
    let mut stage = Stage::with(|options| options.lease = Some(leader("one"))).await;
    stage.create("first", "config", json!({})).await;
    stage.until_ready("first").await;
    let leases = stage.objects("coordination.k8s.io/v1", "Lease");
    let holder = async || {
        let lease = leases.get("outrigger-controller").await.unwrap();
        lease.data["spec"]["holderIdentity"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(holder().await.as_deref(), Some("one"));
    let first = stage.detach();
    stage.start(|options| options.lease = Some(leader("two")));
    first.stop().await;
    stage.create("second", "config", json!({})).await;
    stage.until_ready("second").await;
    assert_eq!(holder().await.as_deref(), Some("two"));
    stage.close().await;
}
