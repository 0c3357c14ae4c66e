//! Creates clusters and installs plugins through the API server and the controller of this process.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{Condition, await_condition};
use kube::{Api, Client};
use outrigger_api::annotation::RETRY;
use outrigger_api::cluster::{Cluster, ClusterPhase, KUBECONFIG_KEY};
use outrigger_api::plugin::{ClusterReference, Plugin};
use outrigger_api::repository::{Repository, RepositorySpec};
use outrigger_controller::ClusterOptions;
use outrigger_installer::{Site, SiteCluster};
use serde_json::json;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;

use crate::commands::cluster::file::Manifests;
use crate::commands::local_platform::Platform;
use crate::commands::provider::providers;
use crate::commands::up::{apply, clusters, watch};

const FIELD_MANAGER: &str = "outrigger-installer";

/// How long the controller may take to see that something is tried again.
const OBSERVED_WITHIN: Duration = Duration::from_mins(1);

/// How the controller runs. It starts when the first step needs it: before, the provider folder is not complete.
#[derive(Debug)]
pub(super) struct ControllerSettings {
    pub(super) options: outrigger_controller::Options,
    pub(super) clusters: ClusterOptions,
    pub(super) provider: Option<PathBuf>,
}

/// The site of an installation.
pub(crate) struct LocalSite {
    client: Client,
    secrets: Vec<Secret>,
    /// The kubeconfig of the API server of this process.
    kubeconfig: PathBuf,
    settings: ControllerSettings,
    controller: Mutex<Option<RunningController>>,
}

struct RunningController {
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

impl fmt::Debug for LocalSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSite").finish_non_exhaustive()
    }
}

impl LocalSite {
    pub(super) fn new(
        platform: &Platform,
        secrets: Vec<Secret>,
        settings: ControllerSettings,
    ) -> Self {
        Self {
            client: platform.client.clone(),
            secrets,
            kubeconfig: platform.kubeconfig.path.clone(),
            settings,
            controller: Mutex::default(),
        }
    }

    /// Starts the controller, unless it runs.
    pub(super) async fn start(&self) -> anyhow::Result<()> {
        let mut controller = self.controller.lock().await;
        if controller.is_some() {
            return Ok(());
        }
        let options = outrigger_controller::Options {
            clusters: Some(ClusterOptions {
                providers: providers(self.settings.provider.as_deref())?,
                ..self.settings.clusters.clone()
            }),
            ..self.settings.options.clone()
        };
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let stopped = async move { stopped.notified().await };
        let run = outrigger_controller::run(self.client.clone(), options, stopped);
        let task = tokio::spawn(run);
        *controller = Some(RunningController { stop, task });
        Ok(())
    }

    pub(super) async fn stop(&self) {
        if let Some(controller) = self.controller.lock().await.take() {
            controller.stop.notify_one();
            // A panic was printed.
            let _ = controller.task.await;
        }
    }

    async fn create(&self, cluster: &SiteCluster) -> anyhow::Result<()> {
        self.start().await?;
        self.retry_if_failed(cluster).await?;
        let manifests = Manifests {
            clusters: vec![cluster.cluster.clone()],
            machines: cluster.workers.clone(),
            secrets: self.secrets.clone(),
        };
        let applied = clusters::apply(&self.client, manifests).await?;
        let mut watch = applied.watch(&self.client);
        if watch.until_idle().await? {
            return Ok(());
        }
        let name = cluster.name();
        let found = Api::<Cluster>::all(self.client.clone()).get(name).await?;
        let message = found.status.unwrap_or_default().message;
        Err(anyhow!("cluster {name} failed: {message}"))
    }

    /// A cluster that failed in an earlier run is tried again.
    async fn retry_if_failed(&self, cluster: &SiteCluster) -> anyhow::Result<()> {
        let api: Api<Cluster> = Api::all(self.client.clone());
        let name = cluster.name();
        let found = api.get_opt(name).await?;
        let status = found.and_then(|found| found.status);
        if status.is_none_or(|status| status.phase != ClusterPhase::Failed) {
            return Ok(());
        }
        let now = Timestamp::now().to_string();
        let patch = json!({"metadata": {"annotations": {RETRY: now}}});
        api.patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        let observed = await_condition(api, name, is_retried(now));
        // A cluster whose spec is invalid handles no request: what is applied next changes that.
        let _ = tokio::time::timeout(OBSERVED_WITHIN, observed).await;
        Ok(())
    }

    async fn read_kubeconfig(&self, name: &str) -> anyhow::Result<String> {
        let cluster = Api::<Cluster>::all(self.client.clone()).get(name).await?;
        let Some(reference) = cluster.kubeconfig_secret_ref() else {
            // Stand-in machines have no API server: the objects are on that of this process.
            return Ok(fs_err::read_to_string(&self.kubeconfig)?);
        };
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &reference.namespace);
        let secret = api.get(&reference.name).await?;
        let kubeconfig = secret.data.unwrap_or_default().remove(KUBECONFIG_KEY);
        let kubeconfig = kubeconfig.context("the Secret has no kubeconfig")?;
        Ok(String::from_utf8(kubeconfig.0)?)
    }

    async fn install(&self, cluster: Option<&str>, plugins: &[Plugin]) -> anyhow::Result<()> {
        self.start().await?;
        let mut plugins = plugins.to_vec();
        if let Some(name) = cluster {
            let api: Api<Cluster> = Api::all(self.client.clone());
            let found = api.get_opt(name).await?;
            let is_real = found.is_some_and(|found| found.kubeconfig_secret_ref().is_some());
            for plugin in plugins.iter_mut().filter(|_| is_real) {
                plugin.spec.cluster.get_or_insert_with(|| ClusterReference {
                    name: Some(name.to_owned()),
                    ..ClusterReference::default()
                });
            }
        }
        let started = Instant::now();
        apply::apply(&self.client, &plugins).await?;
        let report = watch::plugins(self.client.clone(), started, watch::StopWhen::Idle).await?;
        report.exit_code().map(drop)
    }
}

fn is_retried(request: String) -> impl Condition<Cluster> {
    move |cluster: Option<&Cluster>| {
        let status = cluster.and_then(|cluster| cluster.status.as_ref());
        let flow = status.and_then(|status| status.flow.as_ref());
        flow.is_some_and(|flow| flow.retry.as_deref() == Some(&request))
    }
}

/// The message of an error and of its causes.
fn message(error: &anyhow::Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    causes.collect::<Vec<_>>().join(": ")
}

impl Site for LocalSite {
    fn create_cluster<'a>(&'a self, cluster: &'a SiteCluster) -> BoxFuture<'a, Result<(), String>> {
        async move { self.create(cluster).await.map_err(|error| message(&error)) }.boxed()
    }

    fn kubeconfig<'a>(&'a self, cluster: &'a str) -> BoxFuture<'a, Result<String, String>> {
        async move {
            let read = self.read_kubeconfig(cluster).await;
            read.map_err(|error| format!("failed to read the kubeconfig: {}", message(&error)))
        }
        .boxed()
    }

    fn add_repository<'a>(
        &'a self,
        name: &'a str,
        url: &'a str,
    ) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let spec = RepositorySpec {
                url: url.to_owned(),
                system: true,
                ..RepositorySpec::default()
            };
            let api: Api<Repository> = Api::all(self.client.clone());
            let parameters = PatchParams::apply(FIELD_MANAGER).force();
            let repository = Repository::new(name, spec);
            let applied = api
                .patch(name, &parameters, &Patch::Apply(&repository))
                .await;
            applied
                .map(drop)
                .map_err(|error| format!("failed to apply Repository {name}: {error}"))
        }
        .boxed()
    }

    fn install_plugins<'a>(
        &'a self,
        cluster: Option<&'a str>,
        plugins: &'a [Plugin],
    ) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let installed = self.install(cluster, plugins).await;
            installed.map_err(|error| message(&error))
        }
        .boxed()
    }
}
