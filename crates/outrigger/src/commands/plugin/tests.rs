//! The verbs on an embedded API server, in this process. Without a controller what is tested is what they write; with
//! one, what comes of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, PostParams};
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_apiserver::server::{Options, Server};
use outrigger_release::Change;
use outrigger_simulate as simulate;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::connect::Connection;
use super::disable::disable;
use super::edit::edit;
use super::enable::enable;
use super::install::install;
use super::reach::ReachFlags;
use super::rollback::roll_back;
use super::uninstall::uninstall;
use super::{diff, file, progress, release, repo_path, verdict};

struct Cluster {
    server: Server,
    connection: Connection,
}

impl Cluster {
    /// An empty cluster that knows our kinds.
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

    /// One in which `storage` is needed by `database`, and that by `shop`.
    async fn with_a_shop() -> Self {
        let cluster = Self::start().await;
        let plugins = [
            ("storage", None),
            ("database", Some("storage")),
            ("shop", Some("database")),
        ];
        let plugins = plugins.map(|(name, needs)| plugin(name, needs)).to_vec();
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

fn plugin(name: &str, needs: Option<&str>) -> Plugin {
    let dependencies: Vec<_> = needs.iter().map(|name| json!({"name": name})).collect();
    serde_json::from_value(json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
        "metadata": {"name": name},
        "spec": {"repo": "https://charts.example.com", "dependencies": dependencies},
    }))
    .unwrap()
}

fn text(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[tokio::test]
async fn what_is_installed_has_its_defaults_and_is_not_installed_twice() {
    let cluster = Cluster::with_a_shop().await;
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
        "there is a plugin default/storage already"
    );
    cluster.server.close().await;
}

#[tokio::test]
async fn a_plugin_that_is_not_right_is_refused_before_any_is_sent() {
    let cluster = Cluster::start().await;
    let mut wrong = plugin("wrong", None);
    wrong.spec.version = Some("one".to_owned());
    let result = install(
        &cluster.connection,
        vec![plugin("right", None), wrong],
        true,
        false,
    )
    .await;
    let message = text(&result.unwrap_err());
    assert!(
        message.contains("plugin wrong is not right:\n  spec.version: \"one\" is no version"),
        "{message}"
    );
    assert_eq!(cluster.names().await, Vec::<String>::new());
    cluster.server.close().await;
}

#[tokio::test]
async fn the_api_server_minds_the_rules_of_the_schema() {
    let cluster = Cluster::with_a_shop().await;
    let api = cluster.connection.plugins();
    let moved = edit(&api, "shop", false, |plugin| {
        plugin.spec.install_namespace = Some("elsewhere".to_owned());
        Ok(())
    });
    let message = text(&moved.await.unwrap_err());
    assert!(
        message.contains("installNamespace cannot be changed"),
        "{message}"
    );
    let inline = edit(&api, "shop", false, |plugin| {
        plugin.spec.resources =
            vec![json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})];
        Ok(())
    });
    let message = text(&inline.await.unwrap_err());
    assert!(
        message.contains("resources are for plugins of kind manifests only"),
        "{message}"
    );
    let late = edit(&api, "shop", false, |plugin| {
        plugin.spec.timeout = Some("5 minutes".to_owned());
        Ok(())
    });
    assert!(text(&late.await.unwrap_err()).contains("spec.timeout"));
    cluster.server.close().await;
}

#[tokio::test]
async fn files_of_the_seed_are_applied_and_applied_again() {
    let cluster = Cluster::start().await;
    let seed = |version: &str| {
        let text = format!(
            "apiVersion: plugins.kubegems.io/v1beta1\nkind: Plugin\nspec:\n  enabled: true\n  kind: helm\n  repo: https://charts.example.com\n  name: component-a\n  version: {version}\n"
        );
        file::parse("seed.yaml", text.as_bytes()).unwrap()
    };
    install(&cluster.connection, seed("v1.0.0"), false, false)
        .await
        .unwrap();
    install(&cluster.connection, seed("v1.1.0"), false, false)
        .await
        .unwrap();
    let plugin = cluster.get("component-a").await;
    assert_eq!(plugin.spec.version.as_deref(), Some("v1.1.0"));
    assert_eq!(plugin.metadata.generation, Some(2));
    cluster.server.close().await;
}

#[tokio::test]
async fn a_dry_run_keeps_nothing() {
    let cluster = Cluster::with_a_shop().await;
    let made = install(&cluster.connection, vec![plugin("extra", None)], true, true)
        .await
        .unwrap();
    assert!(made[0].spec.enabled);
    disable(&cluster.connection, "shop", ReachFlags::default(), true)
        .await
        .unwrap();
    uninstall(&cluster.connection, "shop", ReachFlags::default(), true)
        .await
        .unwrap();
    assert_eq!(cluster.names().await, ["database", "shop", "storage"]);
    assert!(cluster.get("shop").await.spec.enabled);
    cluster.server.close().await;
}

#[tokio::test]
async fn what_others_need_is_not_switched_off_unless_they_go_first() {
    let cluster = Cluster::with_a_shop().await;
    let connection = &cluster.connection;
    let alone = ReachFlags::default();
    let refused = disable(connection, "storage", alone, false)
        .await
        .unwrap_err();
    assert_eq!(
        text(&refused),
        "plugin default/storage is needed by default/database"
    );
    assert!(cluster.get("storage").await.spec.enabled);
    let cascade = ReachFlags {
        cascade: true,
        ..alone
    };
    let switched = disable(connection, "storage", cascade, false)
        .await
        .unwrap();
    let order: Vec<_> = switched.iter().map(Plugin::name).collect();
    assert_eq!(order, ["shop", "database", "storage"]);
    assert!(!cluster.get("shop").await.spec.enabled);
    let names = ["storage".to_owned(), "database".to_owned()];
    enable(connection, &names, false).await.unwrap();
    assert!(cluster.get("database").await.spec.enabled);
    cluster.server.close().await;
}

#[tokio::test]
async fn force_leaves_others_alone_and_tells_the_controller() {
    let cluster = Cluster::with_a_shop().await;
    let force = ReachFlags {
        force: true,
        ..ReachFlags::default()
    };
    disable(&cluster.connection, "storage", force, false)
        .await
        .unwrap();
    assert!(cluster.get("storage").await.is_marked(FORCE));
    assert!(cluster.get("database").await.spec.enabled);
    cluster.server.close().await;
}

#[tokio::test]
async fn what_is_required_stays() {
    let cluster = Cluster::with_a_shop().await;
    let api = cluster.connection.plugins();
    let required = edit(&api, "shop", false, |plugin| {
        plugin.spec.required = true;
        Ok(())
    });
    required.await.unwrap();
    for reach in [
        ReachFlags::default(),
        ReachFlags {
            cascade: true,
            ..ReachFlags::default()
        },
    ] {
        let error = disable(&cluster.connection, "shop", reach, false)
            .await
            .unwrap_err();
        assert_eq!(
            text(&error),
            "plugin default/shop is required and cannot be switched off"
        );
        let error = uninstall(
            &cluster.connection,
            "database",
            ReachFlags {
                cascade: true,
                ..reach
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
    assert!(text(&error.await.unwrap_err()).contains("a required plugin cannot be switched off"));
    assert_eq!(cluster.names().await.len(), 3);
    cluster.server.close().await;
}

#[tokio::test]
async fn uninstalling_takes_those_along_that_need_it_only_if_asked() {
    let cluster = Cluster::with_a_shop().await;
    let connection = &cluster.connection;
    // A finalizer, as the controller puts it, lets us see what was written before the object goes.
    let api = connection.plugins();
    let held = edit(&api, "storage", false, |plugin| {
        plugin.metadata.finalizers = Some(vec![outrigger_api::plugin::FINALIZER.to_owned()]);
        Ok(())
    });
    held.await.unwrap();
    let refused = uninstall(connection, "storage", ReachFlags::default(), false)
        .await
        .unwrap_err();
    assert_eq!(
        text(&refused),
        "plugin default/storage is needed by default/database"
    );
    let cascade = ReachFlags {
        cascade: true,
        force: false,
    };
    uninstall(connection, "storage", cascade, false)
        .await
        .unwrap();
    assert_eq!(cluster.names().await, ["storage"]);
    let storage = cluster.get("storage").await;
    assert!(storage.metadata.deletion_timestamp.is_some());
    assert!(storage.is_marked(CASCADE));
    cluster.server.close().await;
}

#[tokio::test]
async fn a_plugin_or_a_kind_that_is_not_there_is_told_apart() {
    let cluster = Cluster::start().await;
    let missing = cluster.connection.get("nobody").await.unwrap_err();
    assert_eq!(text(&missing), "there is no plugin default/nobody");
    cluster.server.close().await;
    let bare = Server::open(Options::in_memory()).await.unwrap();
    let connection = Connection {
        client: Client::new(bare.service(), "default"),
        namespace: "default".to_owned(),
    };
    for error in [
        connection.get("nobody").await.unwrap_err(),
        connection.all().await.unwrap_err(),
    ] {
        assert_eq!(text(&error), "the cluster does not know plugins");
    }
    bare.close().await;
}

#[tokio::test]
async fn waiting_ends_by_the_event_by_a_failure_or_by_the_clock() {
    let cluster = Cluster::with_a_shop().await;
    let client = &cluster.connection.client;
    let key = vec![("default".to_owned(), "shop".to_owned())];
    let soon = Duration::from_millis(50);
    let late = Duration::from_secs(30);
    let error = progress::wait(client, &key, verdict::Goal::Ready, soon)
        .await
        .unwrap_err();
    assert!(
        text(&error).contains("default/shop is not seen by the controller yet"),
        "{error:#}"
    );
    let report = |phase: &'static str| {
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
    let waiting = progress::wait(client, &key, verdict::Goal::Ready, late);
    let (waited, ()) = tokio::join!(waiting, report("Ready"));
    waited.unwrap();
    report("Failed").await;
    let error = progress::wait(client, &key, verdict::Goal::Ready, late)
        .await
        .unwrap_err();
    assert_eq!(text(&error), "plugin default/shop is Failed: no such chart");
    let gone = progress::wait(client, &key, verdict::Goal::Gone, late);
    let remove = uninstall(&cluster.connection, "shop", ReachFlags::default(), false);
    let (waited, removed) = tokio::join!(gone, remove);
    waited.unwrap();
    removed.unwrap();
    cluster.server.close().await;
}

/// How long anything may take before a test gives up.
const WITHIN: Duration = Duration::from_mins(1);

async fn settle(cluster: &Cluster, name: &str, goal: verdict::Goal) {
    let key = [("default".to_owned(), name.to_owned())];
    progress::wait(&cluster.connection.client, &key, goal, WITHIN)
        .await
        .unwrap();
}

/// A cluster with a controller at work.
struct Manned {
    cluster: Cluster,
    end: Arc<Notify>,
    controller: tokio::task::JoinHandle<()>,
}

impl Manned {
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
        let end = Arc::new(Notify::new());
        let stop = Arc::clone(&end);
        let client = cluster.connection.client.clone();
        let options = outrigger_controller::Options::default();
        let controller = outrigger_controller::run(client, options, async move {
            stop.notified().await;
        });
        Self {
            cluster,
            end,
            controller: tokio::spawn(controller),
        }
    }

    /// Installs plugins of the examples, and waits until they are ready.
    async fn install_examples(&self, path: &str) -> Vec<Plugin> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = folder.canonicalize().unwrap();
        let mut plugins = file::read(&[folder.join("examples").join(path)]).unwrap();
        for plugin in &mut plugins {
            let repo = plugin.spec.repo.as_deref();
            plugin.spec.repo = repo.map(|repo| repo_path::absolute(repo, &folder));
            if plugin.spec.kind == PluginKind::Template {
                let repo = plugin.spec.repo.clone();
                plugin.spec.values.insert("repo".to_owned(), json!(repo));
            }
        }
        let connection = &self.cluster.connection;
        let installed = install(connection, plugins, false, false).await.unwrap();
        let keys: Vec<_> = installed.iter().map(progress::key).collect();
        progress::wait(&connection.client, &keys, verdict::Goal::Ready, WITHIN)
            .await
            .unwrap();
        installed
    }

    async fn stop(self) {
        self.end.notify_one();
        self.controller.await.unwrap();
        self.cluster.server.close().await;
    }
}

/// One with the example plugin `lighthouse`, ready.
async fn with_a_lighthouse() -> Manned {
    let manned = Manned::start().await;
    manned.install_examples("plugins/lighthouse.yaml").await;
    manned
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_becomes_ready() {
    let manned = Manned::start().await;
    let installed = manned.install_examples("plugins").await;
    assert!(installed.len() >= 15);
    let connection = &manned.cluster.connection;
    let needed = disable(connection, "tracing", ReachFlags::default(), false).await;
    assert_eq!(
        text(&needed.unwrap_err()),
        "plugin default/tracing is needed by default/demo-shop"
    );
    manned.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_all_in_one_example_becomes_ready_with_its_children() {
    let manned = Manned::start().await;
    manned.install_examples("all-in-one.yaml").await;
    let names = manned.cluster.names().await;
    let expected = [
        "platform",
        "platform-alerts",
        "platform-metrics",
        "platform-monitoring",
        "platform-storage",
    ];
    assert_eq!(names, expected);
    for name in names {
        assert!(manned.cluster.get(&name).await.is_ready(), "{name}");
    }
    manned.stop().await;
}

async fn set(cluster: &Cluster, values: &Value) {
    let api = cluster.connection.plugins();
    let changed = edit(&api, "lighthouse", false, |plugin| {
        plugin.spec.values = values.as_object().unwrap().clone();
        Ok(())
    });
    changed.await.unwrap();
    settle(cluster, "lighthouse", verdict::Goal::Ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_foreseen_made_recorded_taken_back_and_switched_off() {
    let manned = with_a_lighthouse().await;
    let cluster = &manned.cluster;
    let connection = &cluster.connection;
    let folder = Path::new("/");
    // Nothing to do as it is.
    let plugin = cluster.get("lighthouse").await;
    let plan = diff::plan(connection, plugin.clone(), folder)
        .await
        .unwrap();
    assert!(plan.is_empty(), "{plan}");
    // What a change would do is told, and not done.
    let mut wanted = plugin.clone();
    wanted.spec.values.insert("replicas".to_owned(), json!(3));
    let plan = diff::plan(connection, wanted, folder).await.unwrap();
    assert_eq!(plan.count(Change::Update), 1, "{plan}");
    assert!(plan.to_string().contains("spec.replicas: 2 -> 3"), "{plan}");
    assert_eq!(cluster.get("lighthouse").await, plugin);
    // Done, it is a new revision.
    let before = Value::Object(plugin.spec.values.clone());
    let mut values = before.clone();
    values["replicas"] = json!(3);
    set(cluster, &values).await;
    let cluster_of_release = release::cluster(connection, &plugin).await.unwrap();
    let id = release::id(&plugin);
    let history = outrigger_release::history(&cluster_of_release, &id)
        .await
        .unwrap();
    assert_eq!(history.len(), 2);
    // Taken back, the plugin has its old values and the exact version.
    let (plugin, revision) = roll_back(connection, "lighthouse", None, false)
        .await
        .unwrap();
    assert_eq!(revision, 1);
    assert_eq!(Value::Object(plugin.spec.values.clone()), before);
    assert_eq!(plugin.spec.version.as_deref(), Some("0.1.0"));
    settle(cluster, "lighthouse", verdict::Goal::Ready).await;
    let status = cluster.get("lighthouse").await.status.unwrap();
    assert_eq!(status.revision, Some(3));
    // Switched off, nothing of it is left.
    disable(connection, "lighthouse", ReachFlags::default(), false)
        .await
        .unwrap();
    settle(cluster, "lighthouse", verdict::Goal::Disabled).await;
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
    uninstall(connection, "lighthouse", ReachFlags::default(), false)
        .await
        .unwrap();
    settle(cluster, "lighthouse", verdict::Goal::Gone).await;
    manned.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_of_what_cannot_be_says_what_the_conditions_would_say() {
    let manned = with_a_lighthouse().await;
    let cluster = &manned.cluster;
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
    manned.stop().await;
}
