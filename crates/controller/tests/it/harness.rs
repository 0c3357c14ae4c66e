//! The fixture of most tests: an API server, a controller, and charts.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_apiserver::server::Server;
use outrigger_controller::{Backoff, Options, crds};
use outrigger_testing::embedded_api::{self, Connection, charts};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Generous: a wait that takes longer has failed.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A server with a running controller.
pub(crate) struct Harness {
    pub(crate) server: Server,
    pub(crate) client: Client,
    /// A repository with the charts `config` and `web`.
    pub(crate) charts: tempfile::TempDir,
    /// The connection of the controller to the server.
    pub(crate) connection: Connection,
    stop: Arc<Notify>,
    controller: Option<JoinHandle<()>>,
}

impl Harness {
    /// Starts a server and a controller.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(configure: impl FnOnce(&mut Options)) -> Self {
        let options = options(configure);
        let mut harness = Self::start_server(options.compat).await;
        harness.run(options);
        harness
    }

    pub(crate) async fn without_controller() -> Self {
        Self::start_server(false).await
    }

    /// Starts a server with our CRDs and, with `compat`, those of KubeGems and TKEStack.
    async fn start_server(compat: bool) -> Self {
        let server = start_server().await;
        let client = embedded_api::client(&server);
        crds::install(&client, compat).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        charts::write(
            directory.path(),
            "config",
            "1.0.0",
            &[("config.yaml", charts::CONFIG_MAP)],
        );
        charts::write(
            directory.path(),
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
            charts: directory,
            stop: Arc::new(Notify::new()),
            controller: None,
        }
    }

    /// Starts a controller whose requests go over the recorded connection.
    pub(crate) fn start(&mut self, configure: impl FnOnce(&mut Options)) {
        self.run(options(configure));
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

    /// Shuts the controller down gracefully.
    pub(crate) async fn stop(&mut self) {
        self.stop.notify_one();
        if let Some(controller) = self.controller.take() {
            controller.await.unwrap();
        }
    }

    /// Aborts the controller at once.
    pub(crate) fn kill(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.abort();
        }
    }

    /// Detaches the controller, so that another one can be started beside it.
    pub(crate) fn detach(&mut self) -> DetachedController {
        DetachedController {
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

    /// The URL of the charts, for `spec.repo`.
    pub(crate) fn repo(&self) -> String {
        format!("file://{}", self.charts.path().display())
    }

    /// Creates a plugin that installs a chart; `spec` is merged over the defaults.
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

    /// Waits until a plugin satisfies a condition.
    #[track_caller]
    pub(crate) fn until<'a>(
        &'a self,
        name: &'a str,
        is_met: impl Fn(&Plugin) -> bool + 'a,
    ) -> Pin<Box<dyn Future<Output = Plugin> + 'a>> {
        let caller = std::panic::Location::caller();
        Box::pin(async move {
            let condition = |plugin: Option<&Plugin>| plugin.is_some_and(&is_met);
            let waited = await_condition(self.plugins(), name, condition);
            match tokio::time::timeout(TIMEOUT, waited).await {
                Ok(plugin) => plugin.unwrap().unwrap(),
                Err(_) => panic!("{caller}: {name} is {:#?}", self.get(name).await.status),
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

    /// Waits until the condition Ready has a reason. Returns its message.
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

    /// Waits until a plugin is deleted.
    pub(crate) async fn until_deleted(&self, name: &str) {
        let deleted = await_condition(self.plugins(), name, |plugin: Option<&Plugin>| {
            plugin.is_none()
        });
        match tokio::time::timeout(TIMEOUT, Box::pin(deleted)).await {
            Ok(deleted) => deleted.unwrap(),
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

    /// Waits until an object satisfies a condition.
    #[track_caller]
    fn until_object<'a>(
        &'a self,
        objects: Api<DynamicObject>,
        name: &'a str,
        is_met: impl Fn(&DynamicObject) -> bool + 'a,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        let caller = std::panic::Location::caller();
        Box::pin(async move {
            let condition = |object: Option<&DynamicObject>| object.is_some_and(&is_met);
            let waited = await_condition(objects.clone(), name, condition);
            if let Ok(waited) = tokio::time::timeout(TIMEOUT, waited).await {
                waited.unwrap();
                return;
            }
            let object = objects.get_opt(name).await;
            let plugins = self.plugins().list(&Default::default()).await.unwrap();
            let states: Vec<_> = plugins.into_iter().map(|plugin| plugin.status).collect();
            panic!("{caller}: {name} is {object:#?}, the plugins are {states:#?}")
        })
    }

    /// Waits until an object exists.
    #[track_caller]
    pub(crate) fn until_exists<'a>(
        &'a self,
        api_version: &str,
        kind: &str,
        name: &'a str,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        self.until_object(self.objects(api_version, kind), name, |_| true)
    }

    /// Waits until the ConfigMap of a release has a text.
    #[track_caller]
    pub(crate) fn until_text<'a>(
        &'a self,
        name: &'a str,
        text: &'a str,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        self.until_object(self.config_maps(), name, move |map| {
            map.data["data"]["text"] == text
        })
    }

    /// The text in the ConfigMap of a release of the charts.
    pub(crate) async fn text(&self, name: &str) -> Option<String> {
        let map = self.config_maps().get_opt(name).await.unwrap()?;
        map.data["data"]["text"].as_str().map(str::to_owned)
    }

    /// The objects of releases and their records.
    pub(crate) async fn release_objects(&self) -> Vec<String> {
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

    /// Reason and note of the events about a plugin, oldest first.
    pub(crate) async fn events(&self, name: &str) -> Vec<(String, String)> {
        let api: Api<k8s_openapi::api::events::v1::Event> =
            Api::default_namespaced(self.client.clone());
        let mut events = api.list(&Default::default()).await.unwrap().items;
        events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        let is_about = |event: &k8s_openapi::api::events::v1::Event| {
            let regarding = event.regarding.as_ref();
            regarding
                .and_then(|regarding| regarding.name.clone())
                .as_deref()
                == Some(name)
        };
        events
            .into_iter()
            .filter(is_about)
            .map(|event| {
                (
                    event.reason.unwrap_or_default(),
                    event.note.unwrap_or_default(),
                )
            })
            .collect()
    }

    /// Waits for an event with a reason. Returns its note.
    pub(crate) async fn until_event(&self, name: &str, reason: &str) -> String {
        self.until_note(name, reason, "").await
    }

    /// Waits for an event with a reason and a word in its note. Returns the note.
    pub(crate) async fn until_note(&self, name: &str, reason: &str, word: &str) -> String {
        let api: Api<k8s_openapi::api::events::v1::Event> =
            Api::default_namespaced(self.client.clone());
        let found = async {
            loop {
                let events = self.events(name).await;
                let is_awaited =
                    |(known, note): &(String, String)| known == reason && note.contains(word);
                if let Some((_, note)) = events.into_iter().find(is_awaited) {
                    return note;
                }
                // Check again after the next event of any kind.
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
        match tokio::time::timeout(TIMEOUT, found).await {
            Ok(note) => note,
            Err(_) => panic!("no event {reason} {word}: {:#?}", self.events(name).await),
        }
    }
}

/// Options with short backoffs.
fn options(configure: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options {
        progress_grace: Duration::from_millis(500),
        backoff: Backoff {
            initial: Duration::from_millis(50),
            max: Duration::from_millis(400),
        },
        ..Options::default()
    };
    configure(&mut options);
    options
}

/// A controller that is no longer that of the harness.
pub(crate) struct DetachedController {
    stop: Arc<Notify>,
    controller: JoinHandle<()>,
}

impl DetachedController {
    pub(crate) async fn stop(self) {
        self.stop.notify_one();
        self.controller.await.unwrap();
    }
}

/// Starts a server whose workloads become ready quickly.
/// Whether a plugin reports drift.
pub(crate) fn is_drifted(plugin: &Plugin) -> bool {
    let applied = plugin.condition("Applied");
    applied.is_some_and(|applied| applied.reason == "Drifted")
}

pub(crate) async fn start_server() -> Server {
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
