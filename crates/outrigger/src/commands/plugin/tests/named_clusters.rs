//! Tests of plugins that target a Cluster by name.

use k8s_openapi::api::core::v1::Secret;

use super::*;

const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: a, user: {token: a}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
";

/// Creates a cluster whose kubeconfig is in the Secret `site` of another namespace.
async fn create_site(cluster: &Cluster) {
    let client = &cluster.connection.client;
    let spec = json!({
        "type": "Imported", "kubeconfigSecretRef": {"name": "site", "namespace": "kube-system"},
    });
    let site = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "site"}, "spec": spec,
    });
    let site: outrigger_api::cluster::Cluster = serde_json::from_value(site).unwrap();
    let api = Api::all(client.clone());
    api.create(&PostParams::default(), &site).await.unwrap();
    let patch = kube::api::Patch::Merge(json!({"status": {"phase": "Running", "version": "1"}}));
    let parameters = kube::api::PatchParams::default();
    let patched = api.patch_status("site", &parameters, &patch).await;
    patched.unwrap();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "site"},
        "stringData": {"kubeconfig": KUBECONFIG},
    });
    let secret: Secret = serde_json::from_value(secret).unwrap();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    let created = secrets.create(&PostParams::default(), &secret).await;
    created.unwrap();
}

#[tokio::test]
async fn releases_are_read_with_the_kubeconfig_of_the_cluster() {
    let cluster = Cluster::start().await;
    let connection = &cluster.connection;
    let mut web = plugin("web", None);
    web.spec.cluster = serde_json::from_value(json!({"name": "site"})).unwrap();
    let error = release::cluster(connection, &web).await.unwrap_err();
    assert!(text(&error).contains("site"), "{error:#}");
    create_site(&cluster).await;
    let remote = release::cluster(connection, &web).await.unwrap();
    let error = outrigger_release::list_revisions(&remote, &release::id(&web)).await;
    assert!(error.unwrap_err().is_transient());
    cluster.server.close().await;
}

#[tokio::test]
async fn a_diff_reports_that_the_cluster_refuses_the_plugin() {
    let cluster = Cluster::start().await;
    let mut web = plugin("web", None);
    web.spec.cluster = serde_json::from_value(json!({"name": "site"})).unwrap();
    let diff = async || {
        let plan = diff::plan(&cluster.connection, web.clone(), Path::new("/"));
        text(&Box::pin(plan).await.unwrap_err())
    };
    assert_eq!(diff().await, "cluster site does not exist");
    create_site(&cluster).await;
    assert_eq!(
        diff().await,
        "cluster site does not allow plugins of namespace default: add it to spec.pluginNamespaces of the cluster"
    );
    cluster.server.close().await;
}
