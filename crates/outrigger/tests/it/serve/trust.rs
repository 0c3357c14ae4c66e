//! What plugins may make a controller do.

use kube::Api;
use kube::api::PostParams;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use super::controller::Cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_node_are_refused_unless_their_folder_is_allowed() {
    let cluster = Cluster::start().await;
    let folder = cluster.context.directory().join("charts");
    charts::write(
        &folder,
        "web",
        "1.0.0",
        &[("config.yaml", charts::CONFIG_MAP)],
    );
    let repo = format!("file://{}", folder.display());
    let controller = cluster.serve(&[]);
    cluster.create("web", json!({"repo": repo})).await;
    cluster
        .create("etc", json!({"repo": "file:///etc", "kind": "manifests"}))
        .await;
    let message = cluster.until("web", "Fetched", "SourceNotAllowed").await;
    assert!(message.contains("--allow-files"), "{message}");
    cluster.until("etc", "Fetched", "SourceNotAllowed").await;
    drop(controller);

    let _controller = cluster.serve(&[
        "--allow-files",
        &folder.display().to_string(),
        "--no-leader-election",
    ]);
    cluster.until_ready("web").await;
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repositories_and_clusters_on_the_node_are_refused() {
    let cluster = Cluster::start().await;
    let _controller = cluster.serve(&[]);
    for (name, repo) in [
        ("loopback", "http://127.0.0.1:10250/charts"),
        ("metadata", "http://169.254.169.254/latest"),
    ] {
        cluster.create(name, json!({"repo": repo})).await;
        cluster.until(name, "Fetched", "SourceNotAllowed").await;
    }
    cluster
        .create("name", json!({"repo": "http://localhost:9/charts"}))
        .await;
    let message = cluster.until("name", "Fetched", "Unreachable").await;
    assert!(message.contains("loopback"), "{message}");
    let secrets: Api<k8s_openapi::api::core::v1::Secret> =
        Api::default_namespaced(cluster.client.clone());
    for (name, server) in [
        ("http", "http://10.0.0.1"),
        ("local", "https://127.0.0.1:6443"),
    ] {
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\n\
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a}}]\ncurrent-context: a\n"
        );
        let secret = json!({"metadata": {"name": name}, "stringData": {"kubeconfig": kubeconfig}});
        let secret = serde_json::from_value(secret).unwrap();
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
        let spec = json!({"kind": "manifests", "resources": [], "cluster": {"secretName": name}});
        cluster.create(name, spec).await;
        let message = cluster.until(name, "Ready", "BadCluster").await;
        assert!(message.contains("must not name a"), "{message}");
    }
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugins_without_an_account_get_the_default_one() {
    let cluster = Cluster::start().await;
    let _controller = cluster.serve(&["--default-service-account", "plugins"]);
    cluster.create_manifests("web").await;
    let message = cluster.until("web", "Ready", "Forbidden").await;
    assert!(
        message.contains("system:serviceaccount:default:plugins"),
        "{message}"
    );
    let binding = serde_json::from_value(json!({
        "metadata": {"name": "plugins"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "plugins", "namespace": "default"}],
    }))
    .unwrap();
    let bindings: Api<k8s_openapi::api::rbac::v1::RoleBinding> =
        Api::default_namespaced(cluster.client.clone());
    bindings
        .create(&PostParams::default(), &binding)
        .await
        .unwrap();
    cluster.until_ready("web").await;
    // Nothing outside of its namespace.
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "evil"}});
    cluster
        .create("evil", json!({"kind": "manifests", "resources": [role]}))
        .await;
    cluster.until("evil", "Ready", "Forbidden").await;
    cluster.close().await;
}
