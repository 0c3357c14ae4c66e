//! Tests of the verbs against an embedded API server. Without a controller they test what the verbs write, with one the
//! result.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, PostParams};
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::{Phase, Plugin, PluginKind};
use outrigger_apiserver::server::{Options, Server};
use outrigger_release::Change;
use outrigger_simulate as simulate;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::connect::Connection;
use super::edit::edit;
use super::enable::enable;
use super::install::install;
use super::removal::{RemovalFlags, plugins_to_remove};
use super::rollback::roll_back;
use super::wait_condition::WaitCondition;
use super::{diff, file, progress, release, repo_path};

mod named_clusters;
mod rollback;

struct Cluster {
    server: Server,
    connection: Connection,
}

impl Cluster {
    /// An empty cluster with our custom resource definitions.
    async fn start() -> Self {
        let server = Server::open(Options::in_memory()).await.unwrap();
        let client = Client::new(server.service(), "default");
        let definitions = Api::all(client.clone());
        for definition in outrigger_api::definitions() {
            definitions
                .create(&PostParams::default(), &definition)
                .await
                .unwrap();
        }
        let connection = Connection {
            client,
            namespace: "default".to_owned(),
        };
        Self { server, connection }
    }

    /// A cluster in which `shop` depends on `database`, and `database` on `storage`.
    async fn with_shop() -> Self {
        let cluster = Self::start().await;
        let plugins = [
            ("storage", None),
            ("database", Some("storage")),
            ("shop", Some("database")),
        ];
        let plugins = plugins
            .map(|(name, dependency)| plugin(name, dependency))
            .to_vec();
        install(&cluster.connection, plugins, true, false)
            .await
            .unwrap();
        cluster
    }

    async fn get(&self, name: &str) -> Plugin {
        self.connection.get(name).await.unwrap()
    }

    async fn names(&self) -> Vec<String> {
        let all = self.connection.all().await.unwrap();
        all.iter().map(|plugin| plugin.name().to_owned()).collect()
    }
}

fn plugin(name: &str, dependency: Option<&str>) -> Plugin {
    let dependencies: Vec<_> = dependency
        .iter()
        .map(|name| json!({"name": name}))
        .collect();
    serde_json::from_value(json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
        "metadata": {"name": name},
        "spec": {"repo": "https://charts.example.com", "dependencies": dependencies},
    }))
    .unwrap()
}

/// `plugin disable`. Returns the plugins in the order in which they were disabled.
async fn disable(
    connection: &Connection,
    names: &str,
    flags: RemovalFlags,
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    let mut disabled = Vec::new();
    for plugin in plugins_to_remove(connection, &words(names), flags, "disabled").await? {
        disabled.push(super::disable::disable(connection, &plugin, flags, dry_run).await?);
    }
    Ok(disabled)
}

/// `plugin uninstall`. Returns the plugins in the order in which they were deleted.
async fn uninstall(
    connection: &Connection,
    names: &str,
    flags: RemovalFlags,
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    let mut removed = Vec::new();
    for plugin in plugins_to_remove(connection, &words(names), flags, "removed").await? {
        removed.push(super::uninstall::uninstall(connection, &plugin, flags, dry_run).await?);
    }
    Ok(removed)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(ToOwned::to_owned).collect()
}

fn text(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[tokio::test]
async fn install_sets_defaults_and_rejects_a_second_install() {
    let cluster = Cluster::with_shop().await;
    let storage = cluster.get("storage").await;
    assert!(storage.spec.enabled);
    assert_eq!(storage.metadata.generation, Some(1));
    let again = install(
        &cluster.connection,
        vec![plugin("storage", None)],
        true,
        false,
    )
    .await;
    assert_eq!(
        text(&again.unwrap_err()),
        "plugin default/storage already exists"
    );
    cluster.server.close().await;
}

#[tokio::test]
async fn install_rejects_an_invalid_plugin_before_it_creates_any() {
    let cluster = Cluster::start().await;
    let mut invalid = plugin("invalid", None);
    invalid.spec.version = Some("one".to_owned());
    let result = install(
        &cluster.connection,
        vec![plugin("valid", None), invalid],
        true,
        false,
    )
    .await;
    let message = text(&result.unwrap_err());
    assert!(
        message.contains("plugin invalid is invalid:\n  spec.version: \"one\" is not a version"),
        "{message}"
    );
    assert_eq!(cluster.names().await, Vec::<String>::new());
    cluster.server.close().await;
}

#[tokio::test]
async fn the_api_server_enforces_the_validation_rules_of_the_schema() {
    let cluster = Cluster::with_shop().await;
    let api = cluster.connection.plugins();
    let moved = edit(&api, "shop", false, |plugin| {
        plugin.spec.install_namespace = Some("elsewhere".to_owned());
        Ok(())
    });
    let message = text(&moved.await.unwrap_err());
    assert!(
        message.contains("installNamespace is immutable"),
        "{message}"
    );
    let inline = edit(&api, "shop", false, |plugin| {
        plugin.spec.resources =
            vec![json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})];
        Ok(())
    });
    let message = text(&inline.await.unwrap_err());
    assert!(
        message.contains("resources are only allowed for plugins of kind manifests"),
        "{message}"
    );
    let timeout = edit(&api, "shop", false, |plugin| {
        plugin.spec.timeout = Some("5 minutes".to_owned());
        Ok(())
    });
    assert!(text(&timeout.await.unwrap_err()).contains("spec.timeout"));
    cluster.server.close().await;
}

#[tokio::test]
async fn installing_a_kubegems_file_again_updates_the_plugin() {
    let cluster = Cluster::start().await;
    let plugins = |version: &str| {
        let text = format!(
            "apiVersion: plugins.kubegems.io/v1beta1\nkind: Plugin\nspec:\n  enabled: true\n  kind: helm\n  repo: https://charts.example.com\n  name: component-a\n  version: {version}\n"
        );
        file::parse("plugin.yaml", text.as_bytes()).unwrap()
    };
    install(&cluster.connection, plugins("v1.0.0"), false, false)
        .await
        .unwrap();
    install(&cluster.connection, plugins("v1.1.0"), false, false)
        .await
        .unwrap();
    let plugin = cluster.get("component-a").await;
    assert_eq!(plugin.spec.version.as_deref(), Some("v1.1.0"));
    assert_eq!(plugin.metadata.generation, Some(2));
    cluster.server.close().await;
}

#[tokio::test]
async fn a_dry_run_persists_nothing() {
    let cluster = Cluster::with_shop().await;
    let installed = install(&cluster.connection, vec![plugin("extra", None)], true, true)
        .await
        .unwrap();
    assert!(installed[0].spec.enabled);
    disable(&cluster.connection, "shop", RemovalFlags::default(), true)
        .await
        .unwrap();
    uninstall(&cluster.connection, "shop", RemovalFlags::default(), true)
        .await
        .unwrap();
    assert_eq!(cluster.names().await, ["database", "shop", "storage"]);
    assert!(cluster.get("shop").await.spec.enabled);
    cluster.server.close().await;
}

#[tokio::test]
async fn disable_rejects_a_plugin_with_dependents_unless_cascading() {
    let cluster = Cluster::with_shop().await;
    let connection = &cluster.connection;
    let error = disable(connection, "storage", RemovalFlags::default(), false)
        .await
        .unwrap_err();
    assert_eq!(
        text(&error),
        "plugin default/storage has dependents: default/database"
    );
    assert!(cluster.get("storage").await.spec.enabled);
    let cascade = RemovalFlags {
        cascade: true,
        ..RemovalFlags::default()
    };
    let disabled = disable(connection, "storage", cascade, false)
        .await
        .unwrap();
    let order: Vec<_> = disabled.iter().map(Plugin::name).collect();
    assert_eq!(order, ["shop", "database", "storage"]);
    assert!(!cluster.get("shop").await.spec.enabled);
    let names = ["storage".to_owned(), "database".to_owned()];
    enable(connection, &names, false).await.unwrap();
    assert!(cluster.get("database").await.spec.enabled);
    cluster.server.close().await;
}

#[tokio::test]
async fn force_ignores_dependents_and_sets_the_annotation() {
    let cluster = Cluster::with_shop().await;
    let force = RemovalFlags {
        force: true,
        ..RemovalFlags::default()
    };
    disable(&cluster.connection, "storage", force, false)
        .await
        .unwrap();
    assert!(cluster.get("storage").await.is_annotated(FORCE));
    assert!(cluster.get("database").await.spec.enabled);
    cluster.server.close().await;
}

#[tokio::test]
async fn a_required_plugin_can_be_neither_disabled_nor_uninstalled() {
    let cluster = Cluster::with_shop().await;
    let api = cluster.connection.plugins();
    let required = edit(&api, "shop", false, |plugin| {
        plugin.spec.required = true;
        Ok(())
    });
    required.await.unwrap();
    for flags in [
        RemovalFlags::default(),
        RemovalFlags {
            cascade: true,
            ..RemovalFlags::default()
        },
    ] {
        let error = disable(&cluster.connection, "shop", flags, false)
            .await
            .unwrap_err();
        assert_eq!(
            text(&error),
            "plugin default/shop is required and cannot be disabled"
        );
        let error = uninstall(
            &cluster.connection,
            "database",
            RemovalFlags {
                cascade: true,
                ..flags
            },
            false,
        )
        .await;
        assert_eq!(
            text(&error.unwrap_err()),
            "plugin default/shop is required and cannot be removed"
        );
    }
    let error = edit(&api, "shop", false, |plugin| {
        plugin.spec.enabled = false;
        Ok(())
    });
    assert!(text(&error.await.unwrap_err()).contains("a required plugin cannot be disabled"));
    assert_eq!(cluster.names().await.len(), 3);
    cluster.server.close().await;
}

#[tokio::test]
async fn uninstall_removes_dependents_only_when_cascading() {
    let cluster = Cluster::with_shop().await;
    let connection = &cluster.connection;
    // The finalizer of the controller keeps the object, so that its annotations can be checked.
    let api = connection.plugins();
    let finalized = edit(&api, "storage", false, |plugin| {
        plugin.metadata.finalizers = Some(vec![outrigger_api::plugin::FINALIZER.to_owned()]);
        Ok(())
    });
    finalized.await.unwrap();
    let error = uninstall(connection, "storage", RemovalFlags::default(), false)
        .await
        .unwrap_err();
    assert_eq!(
        text(&error),
        "plugin default/storage has dependents: default/database"
    );
    let cascade = RemovalFlags {
        cascade: true,
        force: false,
    };
    uninstall(connection, "storage", cascade, false)
        .await
        .unwrap();
    assert_eq!(cluster.names().await, ["storage"]);
    let storage = cluster.get("storage").await;
    assert!(storage.metadata.deletion_timestamp.is_some());
    assert!(storage.is_annotated(CASCADE));
    cluster.server.close().await;
}

/// Both are named, so that nothing is missing afterwards.
#[tokio::test]
async fn named_dependents_are_removed_first_and_without_cascade() {
    let cluster = Cluster::with_shop().await;
    let connection = &cluster.connection;
    let none = RemovalFlags::default();
    for names in ["storage database", "database storage"] {
        let error = disable(connection, names, none, false).await.unwrap_err();
        assert_eq!(
            text(&error),
            "plugin default/database has dependents: default/shop"
        );
        assert!(cluster.get("storage").await.spec.enabled);
    }
    let order = |plugins: &[Plugin]| -> Vec<String> {
        let names = plugins.iter().map(|plugin| plugin.name().to_owned());
        names.collect()
    };
    let removed = uninstall(connection, "storage shop database", none, true);
    assert_eq!(
        order(&removed.await.unwrap()),
        ["shop", "database", "storage"]
    );
    let disabled = disable(connection, "storage shop database", none, false);
    assert_eq!(
        order(&disabled.await.unwrap()),
        ["shop", "database", "storage"]
    );
    let removed = uninstall(connection, "database storage shop", none, false);
    removed.await.unwrap();
    assert_eq!(cluster.names().await, Vec::<String>::new());
    cluster.server.close().await;
}

#[tokio::test]
async fn distinguishes_a_missing_plugin_from_a_missing_definition() {
    let cluster = Cluster::start().await;
    let error = cluster.connection.get("missing").await.unwrap_err();
    assert_eq!(text(&error), "plugin default/missing does not exist");
    cluster.server.close().await;
    let bare = Server::open(Options::in_memory()).await.unwrap();
    let connection = Connection {
        client: Client::new(bare.service(), "default"),
        namespace: "default".to_owned(),
    };
    for error in [
        connection.get("missing").await.unwrap_err(),
        connection.all().await.unwrap_err(),
    ] {
        assert_eq!(
            text(&error),
            "the Plugin CRD (plugins.outrigger.dev) is not installed"
        );
    }
    bare.close().await;
}

#[tokio::test]
async fn wait_returns_on_success_on_failure_and_on_timeout() {
    let cluster = Cluster::with_shop().await;
    let client = &cluster.connection.client;
    let key = vec![("default".to_owned(), "shop".to_owned())];
    let short = Duration::from_millis(50);
    let long = Duration::from_secs(30);
    let error = progress::wait::<Plugin>(client, &key, &WaitCondition::Ready, short)
        .await
        .unwrap_err();
    assert!(
        text(&error).contains("default/shop is not observed by the controller yet"),
        "{error:#}"
    );
    let set_phase = |phase: &'static str| {
        let api = cluster.connection.plugins();
        async move {
            let status = json!({"status": {"phase": phase, "observedGeneration": 1, "conditions": [{
                "type": "Ready", "status": "False", "reason": "X", "message": "no such chart",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]}});
            api.patch_status(
                "shop",
                &kube::api::PatchParams::default(),
                &kube::api::Patch::Merge(status),
            )
            .await
            .unwrap();
        }
    };
    let wait = progress::wait::<Plugin>(client, &key, &WaitCondition::Ready, long);
    let (result, ()) = tokio::join!(wait, set_phase("Ready"));
    result.unwrap();
    set_phase("Failed").await;
    let error = progress::wait::<Plugin>(client, &key, &WaitCondition::Ready, long)
        .await
        .unwrap_err();
    assert_eq!(text(&error), "plugin default/shop is Failed: no such chart");
    let deleted = progress::wait::<Plugin>(client, &key, &WaitCondition::Deleted, long);
    let remove = uninstall(&cluster.connection, "shop", RemovalFlags::default(), false);
    let (deleted, removed) = tokio::join!(deleted, remove);
    deleted.unwrap();
    removed.unwrap();
    cluster.server.close().await;
}

const TIMEOUT: Duration = Duration::from_mins(1);

async fn wait_for(cluster: &Cluster, name: &str, condition: WaitCondition) {
    let key = [("default".to_owned(), name.to_owned())];
    progress::wait::<Plugin>(&cluster.connection.client, &key, &condition, TIMEOUT)
        .await
        .unwrap();
}

/// A cluster with a running controller.
struct Controlled {
    cluster: Cluster,
    stop: Arc<Notify>,
    controller: tokio::task::JoinHandle<()>,
}

impl Controlled {
    async fn start() -> Self {
        let cluster = Cluster::start().await;
        cluster.server.run_controllers();
        simulate::start(
            &cluster.server,
            simulate::Options {
                delay: Duration::from_millis(1),
                ..simulate::Options::default()
            },
        );
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let client = cluster.connection.client.clone();
        let options = outrigger_controller::Options::default();
        let controller = outrigger_controller::run(client, options, async move {
            stopped.notified().await;
        });
        Self {
            cluster,
            stop,
            controller: tokio::spawn(controller),
        }
    }

    /// Installs example plugins and waits until they are Ready.
    async fn install_examples(&self, path: &str) -> Vec<Plugin> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let directory = directory.canonicalize().unwrap();
        let mut plugins = file::read(&[directory.join("examples").join(path)]).unwrap();
        for plugin in &mut plugins {
            let repo = plugin.spec.repo.as_deref();
            plugin.spec.repo = repo.map(|repo| repo_path::absolute(repo, &directory));
            if plugin.spec.kind == PluginKind::Template {
                let repo = plugin.spec.repo.clone();
                plugin.spec.values.insert("repo".to_owned(), json!(repo));
            }
        }
        let connection = &self.cluster.connection;
        let installed = install(connection, plugins, false, false).await.unwrap();
        let keys: Vec<_> = installed.iter().map(progress::key).collect();
        progress::wait::<Plugin>(&connection.client, &keys, &WaitCondition::Ready, TIMEOUT)
            .await
            .unwrap();
        installed
    }

    async fn stop(self) {
        self.stop.notify_one();
        self.controller.await.unwrap();
        self.cluster.server.close().await;
    }
}

/// A controlled cluster in which the example plugin `lighthouse` is Ready.
async fn with_lighthouse() -> Controlled {
    let controlled = Controlled::start().await;
    controlled.install_examples("plugins/lighthouse.yaml").await;
    controlled
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_becomes_ready() {
    let controlled = Controlled::start().await;
    let installed = controlled.install_examples("plugins").await;
    assert!(installed.len() >= 15);
    let connection = &controlled.cluster.connection;
    let result = disable(connection, "tracing", RemovalFlags::default(), false).await;
    assert_eq!(
        text(&result.unwrap_err()),
        "plugin default/tracing has dependents: default/demo-shop"
    );
    controlled.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_all_in_one_example_becomes_ready_with_its_plugins() {
    let controlled = Controlled::start().await;
    controlled.install_examples("all-in-one.yaml").await;
    let names = controlled.cluster.names().await;
    let expected = [
        "platform",
        "platform-alerts",
        "platform-metrics",
        "platform-monitoring",
        "platform-storage",
    ];
    assert_eq!(names, expected);
    for name in names {
        assert!(controlled.cluster.get(&name).await.is_ready(), "{name}");
    }
    controlled.stop().await;
}

async fn set_values(cluster: &Cluster, values: &Value) {
    let api = cluster.connection.plugins();
    let changed = edit(&api, "lighthouse", false, |plugin| {
        plugin.spec.values = values.as_object().unwrap().clone();
        Ok(())
    });
    changed.await.unwrap();
    wait_for(cluster, "lighthouse", WaitCondition::Ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_set_rollback_disable_and_uninstall() {
    let controlled = with_lighthouse().await;
    let cluster = &controlled.cluster;
    let connection = &cluster.connection;
    let directory = Path::new("/");
    // Without a change the plan is empty.
    let plugin = cluster.get("lighthouse").await;
    let plan = diff::plan(connection, plugin.clone(), directory)
        .await
        .unwrap()
        .plan;
    assert!(plan.is_empty(), "{plan}");
    // A diff changes nothing.
    let mut changed = plugin.clone();
    changed.spec.values.insert("replicas".to_owned(), json!(3));
    let plan = diff::plan(connection, changed, directory)
        .await
        .unwrap()
        .plan;
    assert_eq!(plan.count(Change::Update), 1, "{plan}");
    assert!(plan.to_string().contains("spec.replicas: 2 -> 3"), "{plan}");
    assert_eq!(cluster.get("lighthouse").await, plugin);
    // A change creates a new revision.
    let before = Value::Object(plugin.spec.values.clone());
    let before_version = plugin.spec.version.clone();
    let mut values = before.clone();
    values["replicas"] = json!(3);
    set_values(cluster, &values).await;
    let cluster_of_release = release::cluster(connection, &plugin).await.unwrap();
    let id = release::id(&plugin);
    let history = outrigger_release::list_revisions(&cluster_of_release, &id)
        .await
        .unwrap();
    assert_eq!(history.len(), 2);
    // A rollback restores the values, and is recorded as one. The version is the same and is not pinned.
    let rolled_back = roll_back(connection, "lighthouse", None, false)
        .await
        .unwrap();
    let plugin = rolled_back.plugin;
    assert_eq!((rolled_back.revision, rolled_back.has_changed), (1, true));
    assert_eq!(Value::Object(plugin.spec.values.clone()), before);
    assert_eq!(plugin.spec.version, before_version);
    wait_for(cluster, "lighthouse", WaitCondition::Ready).await;
    let status = cluster.get("lighthouse").await.status.unwrap();
    assert_eq!(status.revision, Some(3));
    let history = outrigger_release::list_revisions(&cluster_of_release, &id);
    let history = history.await.unwrap();
    assert_eq!(history[2].description, "Rollback to 1");
    // A rollback to what the spec says already changes nothing, and says so.
    let again = roll_back(connection, "lighthouse", Some(3), false)
        .await
        .unwrap();
    assert!(!again.has_changed);
    // Disabling removes all objects.
    disable(connection, "lighthouse", RemovalFlags::default(), false)
        .await
        .unwrap();
    wait_for(cluster, "lighthouse", WaitCondition::Disabled).await;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::all(connection.client.clone());
    assert_eq!(
        deployments
            .list(&kube::api::ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
    uninstall(connection, "lighthouse", RemovalFlags::default(), false)
        .await
        .unwrap();
    wait_for(cluster, "lighthouse", WaitCondition::Deleted).await;
    controlled.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_reports_the_error_that_the_conditions_would_report() {
    let controlled = with_lighthouse().await;
    let cluster = &controlled.cluster;
    let mut plugin = cluster.get("lighthouse").await;
    plugin.spec.version = Some("^9".to_owned());
    let error = diff::plan(&cluster.connection, plugin.clone(), Path::new("/"))
        .await
        .unwrap_err();
    assert!(
        text(&error).contains("has no chart lighthouse of version \"^9\"; nearest: 0.1.0"),
        "{error:#}"
    );
    plugin.spec.version = None;
    plugin
        .spec
        .values
        .insert("replicas".to_owned(), json!("many"));
    let error = diff::plan(&cluster.connection, plugin, Path::new("/"))
        .await
        .unwrap_err();
    assert!(text(&error).contains("replicas"), "{error:#}");
    controlled.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_and_dry_run_find_the_field_conflict_that_the_controller_would_report() {
    let controlled = with_lighthouse().await;
    let (cluster, connection) = (&controlled.cluster, &controlled.cluster.connection);
    let plugin = cluster.get("lighthouse").await;
    // Another manager sets a field that the chart does not set yet.
    let client = connection.client.clone();
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(client, plugin.release_namespace());
    let listed = deployments.list(&kube::api::ListParams::default()).await;
    let deployment = listed.unwrap().items.remove(0);
    let name = deployment.metadata.name.unwrap();
    let patch = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "spec": {"replicas": 7},
    });
    let parameters = kube::api::PatchParams::apply("scaler").force();
    // As long as the plugin is suspended, the change is not corrected.
    let api = connection.plugins();
    let suspended = edit(&api, "lighthouse", false, |plugin| {
        super::removal::annotate(plugin, outrigger_api::annotation::SUSPEND);
        Ok(())
    });
    suspended.await.unwrap();
    let patch = kube::api::Patch::Apply(&patch);
    deployments.patch(&name, &parameters, &patch).await.unwrap();
    let mut changed = cluster.get("lighthouse").await;
    changed.spec.values.insert("replicas".to_owned(), json!(3));
    let preview = diff::plan(connection, changed.clone(), Path::new("/")).await;
    let refusal = preview.unwrap().refusal.unwrap();
    assert!(refusal.message.contains("scaler"), "{refusal}");
    let refused = super::change::ensure_accepted(connection, &changed).await;
    let message = text(&refused.unwrap_err());
    assert!(message.contains(".spec.replicas"), "{message}");
    changed.spec.conflicts = outrigger_api::plugin::Conflicts::Take;
    let preview = diff::plan(connection, changed.clone(), Path::new("/")).await;
    assert_eq!(preview.unwrap().refusal, None);
    super::change::ensure_accepted(connection, &changed)
        .await
        .unwrap();
    controlled.stop().await;
}
