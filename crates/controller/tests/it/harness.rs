//! A server, a controller and charts: what most tests need.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_apiserver::server::Server;
use outrigger_controller::{Backoff, Options, definitions};
use outrigger_testing::embedded_api::{self, Connection, charts};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Nothing takes this long unless it is broken.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A server with a controller at work.
pub(crate) struct Harness {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) charts: tempfile::TempDir,
    /// The connection of the controller.
    pub(crate) connection: Connection,
    stop: Arc<Notify>,
    controller: Option<JoinHandle<()>>,
}

impl Harness {
    /// A server with the charts `config` and `web`, and a controller.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let options = options(change);
        let mut harness = Self::defined(options.compat).await;
        harness.run(options);
        harness
    }

    pub(crate) async fn without_controller() -> Self {
        Self::defined(false).await
    }

    /// A server that knows our kinds and, if wanted, those of others.
    async fn defined(compat: bool) -> Self {
        let server = open().await;
        let client = embedded_api::client(&server);
        definitions::install(&client, compat).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        charts::write(
            folder.path(),
            "config",
            "1.0.0",
            &[("config.yaml", charts::CONFIG_MAP)],
        );
        charts::write(
            folder.path(),
            "web",
            "1.2.3",
            &[
                ("config.yaml", charts::CONFIG_MAP),
                ("web.yaml", charts::DEPLOYMENT),
            ],
        );
        Self {
            connection: Connection::new(&server),
            server,
            client,
            charts: folder,
            stop: Arc::new(Notify::new()),
            controller: None,
        }
    }

    /// Starts a controller; its requests go over the wire that is counted and can be cut.
    pub(crate) fn start(&mut self, change: impl FnOnce(&mut Options)) {
        self.run(options(change));
    }

    fn run(&mut self, options: Options) {
        let client = self.connection.client();
        self.stop = Arc::new(Notify::new());
        let stop = Arc::clone(&self.stop);
        let shutdown = async move { stop.notified().await };
        self.controller = Some(tokio::spawn(outrigger_controller::run(
            client, options, shutdown,
        )));
    }

    /// Ends the controller in good order.
    pub(crate) async fn stop(&mut self) {
        self.stop.notify_one();
        if let Some(controller) = self.controller.take() {
            controller.await.unwrap();
        }
    }

    /// Ends the controller in the middle of whatever it does.
    pub(crate) fn kill(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.abort();
        }
    }

    /// Leaves the controller to itself, so that another can be started beside it.
    pub(crate) fn detach(&mut self) -> Running {
        Running {
            stop: Arc::clone(&self.stop),
            controller: self.controller.take().unwrap(),
        }
    }

    pub(crate) async fn close(mut self) {
        self.stop().await;
        self.server.close().await;
    }

    pub(crate) fn plugins(&self) -> Api<Plugin> {
        Api::default_namespaced(self.client.clone())
    }

    /// Where the charts are, for `spec.repo`.
    pub(crate) fn repo(&self) -> String {
        format!("file://{}", self.charts.path().display())
    }

    /// Makes a plugin of a chart; `spec` is merged over the usual.
    pub(crate) async fn create(&self, name: &str, chart: &str, spec: Value) -> Plugin {
        let mut object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": name},
            "spec": {"repo": self.repo(), "chart": chart},
        });
        merge(&mut object["spec"], spec);
        let plugin = serde_json::from_value(object).unwrap();
        self.plugins()
            .create(&PostParams::default(), &plugin)
            .await
            .unwrap()
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) -> Plugin {
        let parameters = PatchParams::default();
        self.plugins()
            .patch(name, &parameters, &Patch::Merge(&patch))
            .await
            .unwrap()
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.plugins()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    pub(crate) async fn get(&self, name: &str) -> Plugin {
        self.plugins().get(name).await.unwrap()
    }

    /// Waits until a plugin is as it should be.
    #[track_caller]
    pub(crate) fn until<'a>(
        &'a self,
        name: &'a str,
        is_wanted: impl Fn(&Plugin) -> bool + 'a,
    ) -> Pin<Box<dyn Future<Output = Plugin> + 'a>> {
        let place = std::panic::Location::caller();
        Box::pin(async move {
            let condition = |plugin: Option<&Plugin>| plugin.is_some_and(&is_wanted);
            let waited = await_condition(self.plugins(), name, condition);
            match tokio::time::timeout(SOON, waited).await {
                Ok(plugin) => plugin.unwrap().unwrap(),
                Err(_) => panic!("{place}: {name} is {:#?}", self.get(name).await.status),
            }
        })
    }

    #[track_caller]
    pub(crate) fn until_phase<'a>(
        &'a self,
        name: &'a str,
        phase: Phase,
    ) -> Pin<Box<dyn Future<Output = Plugin> + 'a>> {
        self.until(name, move |plugin| {
            plugin.is_observed() && plugin.phase() == phase
        })
    }

    #[track_caller]
    pub(crate) fn until_ready<'a>(
        &'a self,
        name: &'a str,
    ) -> Pin<Box<dyn Future<Output = Plugin> + 'a>> {
        self.until_phase(name, Phase::Ready)
    }

    /// Waits until the reason of the condition Ready is this one.
    #[track_caller]
    pub(crate) fn until_reason<'a>(
        &'a self,
        name: &'a str,
        reason: &'a str,
    ) -> Pin<Box<dyn Future<Output = String> + 'a>> {
        let waited = self.until(name, move |plugin| {
            plugin
                .condition("Ready")
                .is_some_and(|ready| ready.reason == reason)
        });
        Box::pin(async move {
            let plugin = waited.await;
            plugin.condition("Ready").unwrap().message.clone()
        })
    }

    /// Waits until a plugin is gone.
    pub(crate) async fn until_gone(&self, name: &str) {
        let gone = await_condition(self.plugins(), name, |plugin: Option<&Plugin>| {
            plugin.is_none()
        });
        match tokio::time::timeout(SOON, gone).await {
            Ok(gone) => gone.unwrap(),
            Err(_) => panic!("{name} is {:#?}", self.get(name).await),
        };
    }

    /// Objects of a kind in the namespace `default`.
    pub(crate) fn objects(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        objects(&self.client, api_version, kind)
    }

    pub(crate) fn config_maps(&self) -> Api<DynamicObject> {
        self.objects("v1", "ConfigMap")
    }

    /// The text of the ConfigMap that the charts have.
    pub(crate) async fn text(&self, name: &str) -> Option<String> {
        let map = self.config_maps().get_opt(name).await.unwrap()?;
        map.data["data"]["text"].as_str().map(str::to_owned)
    }

    /// The names of all objects that say they belong to a release.
    pub(crate) async fn owned(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (api_version, kind) in [
            ("v1", "ConfigMap"),
            ("v1", "Secret"),
            ("apps/v1", "Deployment"),
        ] {
            let list = self
                .objects(api_version, kind)
                .list(&Default::default())
                .await
                .unwrap();
            let names = list.items.into_iter().filter(|object| {
                object
                    .labels()
                    .get("app.kubernetes.io/managed-by")
                    .is_some()
                    || object
                        .labels()
                        .get("owner")
                        .is_some_and(|owner| owner == "helm")
            });
            found.extend(names.map(|object| format!("{kind}/{}", object.name_any())));
        }
        found
    }

    /// The events about a plugin, oldest first: reason and note.
    pub(crate) async fn events(&self, name: &str) -> Vec<(String, String)> {
        let api: Api<k8s_openapi::api::events::v1::Event> =
            Api::default_namespaced(self.client.clone());
        let mut events = api.list(&Default::default()).await.unwrap().items;
        events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        let about = |event: &k8s_openapi::api::events::v1::Event| {
            let regarding = event.regarding.as_ref();
            regarding
                .and_then(|regarding| regarding.name.clone())
                .as_deref()
                == Some(name)
        };
        events
            .into_iter()
            .filter(about)
            .map(|event| {
                (
                    event.reason.unwrap_or_default(),
                    event.note.unwrap_or_default(),
                )
            })
            .collect()
    }

    /// Waits for an event.
    pub(crate) async fn until_event(&self, name: &str, reason: &str) -> String {
        let api: Api<k8s_openapi::api::events::v1::Event> =
            Api::default_namespaced(self.client.clone());
        let look = async {
            loop {
                let events = self.events(name).await;
                if let Some((_, note)) = events.into_iter().find(|(known, _)| known == reason) {
                    return note;
                }
                // The next event of any kind is a reason to look again.
                let list = api.list(&Default::default()).await.unwrap();
                let version = list.metadata.resource_version.unwrap_or_default();
                let mut watch =
                    std::pin::pin!(api.watch(&Default::default(), &version).await.unwrap());
                let _ = tokio::time::timeout(
                    Duration::from_secs(1),
                    futures::StreamExt::next(&mut watch),
                )
                .await;
            }
        };
        match tokio::time::timeout(SOON, look).await {
            Ok(note) => note,
            Err(_) => panic!("no event {reason}: {:#?}", self.events(name).await),
        }
    }
}

/// What most tests want, with a change.
fn options(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options {
        backoff: Backoff {
            first: Duration::from_millis(50),
            longest: Duration::from_millis(400),
        },
        ..Options::default()
    };
    change(&mut options);
    options
}

/// A controller beside the one of the harness.
pub(crate) struct Running {
    stop: Arc<Notify>,
    controller: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.notify_one();
        self.controller.await.unwrap();
    }
}

/// A server whose workloads become ready quickly.
pub(crate) async fn open() -> Server {
    embedded_api::start(Duration::from_millis(5)).await
}

pub(crate) fn objects(client: &Client, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = GroupVersionKind::gvk(group, version, kind);
    let resource = kube::api::ApiResource::from_gvk(&kind);
    Api::default_namespaced_with(client.clone(), &resource)
}

fn merge(base: &mut Value, top: Value) {
    match (base, top) {
        (Value::Object(base), Value::Object(top)) => {
            for (key, value) in top {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, top) => *base = top,
    }
}
