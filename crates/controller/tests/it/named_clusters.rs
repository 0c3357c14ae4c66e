//! Plugins that target a Cluster by name.

use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_apiserver::server::Server;
use outrigger_controller::ClusterOptions;
use outrigger_testing::fake_machines::FakeMachines;
use serde_json::{Value, json};

use crate::harness::{Harness, objects};
use crate::targets::{create_secret, serve_remote};

/// A harness whose controller reconciles clusters, and the server of a remote cluster with its kubeconfig.
struct Fixture {
    harness: Harness,
    remote: Server,
    kubeconfig: String,
}

impl Fixture {
    async fn new() -> Self {
        let harness = Harness::with(|options| {
            options.clusters = Some(ClusterOptions {
                connect: Arc::new(FakeMachines::default()),
                ..ClusterOptions::default()
            });
        })
        .await;
        let (remote, kubeconfig, _) = serve_remote(&harness).await;
        Self {
            harness,
            remote,
            kubeconfig,
        }
    }

    /// Like [`Self::new`], with the imported cluster `site`.
    async fn with_site(namespaces: &[&str]) -> Self {
        let fixture = Self::new().await;
        create_secret(&fixture.harness, "remote", &fixture.kubeconfig).await;
        fixture.create_site(namespaces).await;
        fixture
    }

    fn clusters(&self) -> Api<Cluster> {
        Api::all(self.harness.client.clone())
    }

    /// Creates a cluster whose kubeconfig is in the Secret `remote`.
    async fn create_site(&self, namespaces: &[&str]) {
        let secret = json!({"name": "remote", "namespace": "default"});
        let spec = json!({
            "type": "Imported", "kubeconfigSecretRef": secret, "pluginNamespaces": namespaces,
        });
        self.create_cluster(spec).await;
    }

    async fn create_cluster(&self, spec: Value) {
        let cluster = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "site"}, "spec": spec,
        });
        let cluster = serde_json::from_value(cluster).unwrap();
        let created = self.clusters().create(&Default::default(), &cluster).await;
        created.unwrap();
    }

    async fn set_namespaces(&self, namespaces: &[&str]) {
        let patch = Patch::Merge(json!({"spec": {"pluginNamespaces": namespaces}}));
        let parameters = PatchParams::default();
        let patched = self.clusters().patch("site", &parameters, &patch).await;
        patched.unwrap();
    }

    /// Creates a plugin that targets `site`.
    async fn create(&self, name: &str, chart: &str, mut spec: Value) {
        spec["cluster"] = json!({"name": "site"});
        self.harness.create(name, chart, spec).await;
    }

    /// Whether the remote cluster has an object.
    async fn has_remote(&self, api_version: &str, kind: &str, name: &str) -> bool {
        let client = Client::new(self.remote.service(), "default");
        let found = objects(&client, api_version, kind).get_opt(name).await;
        found.unwrap().is_some()
    }

    async fn close(self) {
        self.harness.close().await;
        self.remote.close().await;
    }
}

fn owners(plugin: &Plugin) -> Vec<String> {
    let owners = plugin.owner_references().iter();
    owners
        .map(|owner| format!("{}/{}", owner.kind, owner.name))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_waits_for_its_cluster_and_is_installed_in_it() {
    let fixture = Fixture::new().await;
    let harness = &fixture.harness;
    fixture.create("web", "web", json!({})).await;
    let message = harness.until_reason("web", "ClusterMissing").await;
    assert_eq!(message, "cluster site does not exist");
    assert_eq!(harness.get("web").await.phase(), Phase::Waiting);
    fixture.create_site(&[]).await;
    harness
        .until("web", |plugin| {
            let ready = plugin.condition("Ready");
            ready.is_some_and(|ready| ready.message.contains("Secret default/remote"))
        })
        .await;
    create_secret(harness, "remote", &fixture.kubeconfig).await;
    let plugin = harness.until_ready("web").await;
    assert!(fixture.has_remote("apps/v1", "Deployment", "web").await);
    assert_eq!(harness.text("web").await, None);
    assert_eq!(owners(&plugin), ["Cluster/site"]);
    let cluster = plugin.status.unwrap().cluster.unwrap();
    assert_eq!(cluster.name.as_deref(), Some("site"));

    harness.delete("web").await;
    harness.until_deleted("web").await;
    assert!(!fixture.has_remote("apps/v1", "Deployment", "web").await);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_installed_once_the_provider_has_written_the_kubeconfig() {
    let fixture = Fixture::new().await;
    let harness = &fixture.harness;
    let machines = json!([{"ip": "10.0.0.1", "password": "eA=="}]);
    let spec = json!({"version": "1.0.0", "machines": machines});
    fixture.create_cluster(spec).await;
    fixture.create("web", "web", json!({})).await;
    let awaited = "waiting for cluster site to have a kubeconfig: it is Running";
    harness
        .until("web", |plugin| {
            let ready = plugin.condition("Ready");
            ready.is_some_and(|it| it.reason == "ClusterNotReady" && it.message == awaited)
        })
        .await;
    create_secret(harness, "remote", &fixture.kubeconfig).await;
    let secret = json!({"name": "remote", "namespace": "default"});
    let patch = Patch::Merge(json!({"status": {"kubeconfigSecretRef": secret}}));
    let parameters = PatchParams::default();
    let clusters = fixture.clusters();
    let patched = clusters.patch_status("site", &parameters, &patch).await;
    patched.unwrap();
    harness.until_ready("web").await;
    assert!(fixture.has_remote("apps/v1", "Deployment", "web").await);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_kubeconfig_takes_effect() {
    let fixture = Fixture::new().await;
    let harness = &fixture.harness;
    create_secret(harness, "remote", "expired").await;
    fixture.create_site(&[]).await;
    fixture.create("web", "web", json!({"retries": 0})).await;
    harness.until_reason("web", "BadCluster").await;
    let secrets = harness.objects("v1", "Secret");
    let renewed = Patch::Merge(json!({"stringData": {"kubeconfig": fixture.kubeconfig}}));
    let parameters = PatchParams::default();
    let patched = secrets.patch("remote", &parameters, &renewed).await;
    patched.unwrap();
    harness.until_ready("web").await;
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_the_cluster_does_not_list_is_refused_and_its_kubeconfig_not_read() {
    let fixture = Fixture::with_site(&["shop"]).await;
    let harness = &fixture.harness;
    fixture.create("web", "web", json!({})).await;
    let message = harness.until_reason("web", "ClusterNotAllowed").await;
    assert_eq!(
        message,
        "cluster site does not allow plugins of namespace default: add it to spec.pluginNamespaces of the cluster"
    );
    let plugin = harness.get("web").await;
    assert_eq!(plugin.phase(), Phase::Failed);
    assert_eq!(owners(&plugin), [""; 0]);
    let requests = harness.connection.take_requests();
    let is_read = |request: &String| request.contains("/secrets/remote");
    assert!(!requests.iter().any(is_read), "{requests:#?}");

    fixture.set_namespaces(&["*"]).await;
    let plugin = harness.until_ready("web").await;
    assert_eq!(owners(&plugin), ["Cluster/site"]);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_is_left_alone_while_its_permission_is_withdrawn() {
    let fixture = Fixture::with_site(&["default"]).await;
    let harness = &fixture.harness;
    fixture.create("config", "config", json!({})).await;
    harness.until_ready("config").await;
    fixture.set_namespaces(&["shop"]).await;
    harness.until_reason("config", "ClusterNotAllowed").await;
    let client = Client::new(fixture.remote.service(), "default");
    let maps = objects(&client, "v1", "ConfigMap");
    let edit = Patch::Merge(json!({"data": {"text": "edited"}}));
    let edited = maps.patch("config", &PatchParams::default(), &edit).await;
    edited.unwrap();

    harness.delete("config").await;
    let blocked = |plugin: &Plugin| {
        let removable = plugin.condition("Removable");
        removable.is_some_and(|it| it.reason == "ClusterNotAllowed")
    };
    harness.until("config", blocked).await;
    let map = maps.get("config").await.unwrap();
    assert_eq!(map.data["data"]["text"], "edited");
    fixture.set_namespaces(&["default"]).await;
    harness.until_deleted("config").await;
    assert!(!fixture.has_remote("v1", "ConfigMap", "config").await);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_stops_when_its_permission_is_withdrawn() {
    let fixture = Fixture::with_site(&[]).await;
    let harness = &fixture.harness;
    // It is rolled back if it does not become healthy in five minutes.
    let spec = json!({"rollback": true, "values": {"simulate": "never-ready"}});
    fixture.create("web", "web", spec).await;
    harness.until_phase("web", Phase::Installing).await;
    fixture.set_namespaces(&["shop"]).await;
    harness.until_reason("web", "ClusterNotAllowed").await;
    assert!(fixture.has_remote("apps/v1", "Deployment", "web").await);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugins_are_deleted_with_their_cluster() {
    let fixture = Fixture::with_site(&[]).await;
    let harness = &fixture.harness;
    fixture.create("web", "web", json!({})).await;
    fixture
        .create("config", "config", json!({"required": true}))
        .await;
    let dependencies = json!([{"name": "nobody"}]);
    fixture
        .create("waiting", "config", json!({"dependencies": dependencies}))
        .await;
    harness.until_ready("web").await;
    harness.until_ready("config").await;
    harness
        .until("waiting", |plugin| !owners(plugin).is_empty())
        .await;
    let clusters = fixture.clusters();
    clusters.delete("site", &Default::default()).await.unwrap();
    for name in ["web", "config", "waiting"] {
        harness.until_deleted(name).await;
    }
    let note = harness.until_event("web", "Orphaned").await;
    assert!(note.starts_with("cluster site "), "{note}");
    assert!(note.contains("Deployment default/web"), "{note}");
    // The cluster is an imported one: what was installed stays.
    assert!(fixture.has_remote("apps/v1", "Deployment", "web").await);
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_names_another_cluster_is_no_longer_owned_by_the_first() {
    let fixture = Fixture::with_site(&[]).await;
    let harness = &fixture.harness;
    fixture
        .create("web", "web", json!({"enabled": false}))
        .await;
    harness.until("web", |it| !owners(it).is_empty()).await;
    let local = json!({"spec": {"cluster": null, "enabled": true}});
    harness.patch("web", local).await;
    let plugin = harness.until_ready("web").await;
    assert_eq!(owners(&plugin), [""; 0]);
    assert_eq!(harness.text("web").await.as_deref(), Some("hello"));
    fixture.close().await;
}

#[tokio::test]
async fn a_plugin_names_either_a_cluster_or_a_secret() {
    let harness = Harness::without_controller().await;
    let invalid = [
        (
            json!({"name": "a", "secretName": "b"}),
            "set either name or secretName",
        ),
        (json!({}), "set either name or secretName"),
        (json!({"name": "a", "key": "b"}), "key requires secretName"),
    ];
    for (cluster, text) in invalid {
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"},
            "spec": {"cluster": cluster},
        });
        let plugin = serde_json::from_value(plugin).unwrap();
        let created = harness.plugins().create(&Default::default(), &plugin).await;
        let error = created.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    harness.close().await;
}
