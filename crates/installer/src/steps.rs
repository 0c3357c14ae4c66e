//! Does the steps of an installation. One file for each kind; all may be repeated.

mod charts;
mod hooks;
mod images;
mod push;
mod staging;

pub(crate) use staging::write_private;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use jiff::Timestamp;
use outrigger_api::hook::Hook;
use outrigger_cluster::Remote;
use outrigger_flow::{Attempt, Executor as FlowExecutor, Stopped};
use outrigger_registry::Store;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::contents::{Contents, SiteCluster};
use crate::driver::Ended;
use crate::folders::Folders;
use crate::operator::{Settings, Supervisor};
use crate::reports::{Report, Reports};
use crate::site::Site;

/// The name of the Repository with the charts of packages.
pub(crate) const REPOSITORY: &str = "expansion";

/// What steps work on.
#[derive(Debug, Clone)]
pub(crate) struct Effects {
    /// The run of the flow, so that attempts of another installation are not found.
    pub(crate) run: String,
    pub(crate) contents: Arc<Contents>,
    pub(crate) folders: Folders,
    pub(crate) store: Option<Store>,
    pub(crate) registry_url: Option<String>,
    pub(crate) site: Arc<dyn Site>,
    pub(crate) operator: Arc<Supervisor>,
    /// How the registry of the site is accessed.
    pub(crate) push: outrigger_oci::Options,
    pub(crate) now: fn() -> Timestamp,
}

impl Effects {
    async fn execute(&self, attempt: &Attempt) -> (Report, Result<(), String>) {
        let nothing = |result: Result<(), String>| (Report::default(), result);
        let cluster = self.contents.cluster.as_ref();
        match attempt.task.step {
            "LoadExpansionOperatorImage" => nothing(self.blocking(staging::write_operator).await),
            "StartExpansionOperator" => nothing(self.start_operator().await),
            "PatchHookFiles" => reported(self.blocking(staging::write).await),
            "SetupLocalRegistry" => {
                let registry = self.registry_url.clone();
                let result = match registry {
                    Some(_) => Ok(()),
                    None => Err("the registry is not served".to_owned()),
                };
                let report = Report {
                    registry,
                    ..Report::default()
                };
                (report, result)
            }
            "LoadImages" => nothing(self.blocking(images::load).await),
            "TagImages" => reported(self.blocking(images::tag).await),
            "PushImages" => nothing(self.blocking(push::push).await),
            "UploadCharts" => {
                let imported = self.blocking(charts::import).await;
                let added = match (&imported, &self.registry_url) {
                    (Ok(_), Some(url)) => self.site.add_repository(REPOSITORY, url).await,
                    _ => Ok(()),
                };
                reported(imported.and_then(|report| added.map(|()| report)))
            }
            "CreateGlobalCluster" => nothing(match cluster {
                Some(cluster) => self.site.create_cluster(cluster).await,
                None => Ok(()),
            }),
            "WriteKubeconfig" => reported(self.write_kubeconfig().await),
            "InstallPlugins" => reported(self.install_plugins().await),
            step => match Hook::of_installer().find(|hook| hook.step == step) {
                Some(hook) => hooks::run(self, hook, attempt).await,
                None => nothing(Err(format!("step {step} is not implemented"))),
            },
        }
    }

    /// Starts the operator, also if that was done by an earlier installer.
    pub(crate) async fn start_operator(&self) -> Result<(), String> {
        let Some((name, _, steps)) = self.contents.operator() else {
            return Ok(());
        };
        let name = name.to_owned();
        self.operator.start(&Settings { name, steps }).await
    }

    async fn write_kubeconfig(&self) -> Result<Report, String> {
        let Some(cluster) = &self.contents.cluster else {
            return Ok(Report::default());
        };
        let kubeconfig = self.site.kubeconfig(cluster.name()).await?;
        let path = self.folders.kubeconfig();
        let shown = path.display().to_string();
        self.blocking(move |_| write_private(&path, kubeconfig.as_bytes()))
            .await?;
        tracing::debug!("wrote {shown}");
        Ok(Report::default())
    }

    async fn install_plugins(&self) -> Result<Report, String> {
        let Some(package) = &self.contents.package else {
            return Ok(Report::default());
        };
        let cluster = self.contents.cluster.as_ref().map(SiteCluster::name);
        let plugins = &package.plugins;
        self.site.install_plugins(cluster, plugins).await?;
        let names = plugins.iter();
        let names = names.map(|plugin| format!("{}/{}", plugin.namespace(), plugin.name()));
        Ok(Report {
            plugins: Some(names.collect()),
            ..Report::default()
        })
    }

    /// Runs work that blocks on its own thread.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let effects = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&effects)).await;
        done.unwrap_or_else(|error| Err(format!("the step panicked: {error}")))
    }

    /// The machine on which hooks run.
    fn machine(&self) -> Arc<dyn Remote> {
        outrigger_cluster::local(&self.folders.attempts())
    }
}

fn reported(result: Result<Report, String>) -> (Report, Result<(), String>) {
    match result {
        Ok(report) => (report, Ok(())),
        Err(message) => (Report::default(), Err(message)),
    }
}

/// The message of an error and of its causes.
fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// Executes attempts in tasks.
#[derive(Debug)]
pub(crate) struct Executor {
    effects: Effects,
    reports: Arc<Reports>,
    ended: mpsc::UnboundedSender<Ended>,
    running: Mutex<BTreeMap<String, AbortHandle>>,
}

impl Executor {
    pub(crate) fn new(
        effects: Effects,
        reports: Arc<Reports>,
        ended: mpsc::UnboundedSender<Ended>,
    ) -> Self {
        Self {
            effects,
            reports,
            ended,
            running: Mutex::default(),
        }
    }

    fn with_running<T>(&self, f: impl FnOnce(&mut BTreeMap<String, AbortHandle>) -> T) -> T {
        f(&mut self.running.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.with_running(|running| running.values().for_each(AbortHandle::abort));
    }
}

impl FlowExecutor for Executor {
    fn start(&self, attempt: &Attempt) {
        let (effects, reports) = (self.effects.clone(), Arc::clone(&self.reports));
        let (ended, attempt) = (self.ended.clone(), attempt.clone());
        let id = attempt.id();
        let task = tokio::spawn(async move {
            let work = std::panic::AssertUnwindSafe(effects.execute(&attempt)).catch_unwind();
            let (report, result) = work
                .await
                .unwrap_or_else(|_| (Report::default(), Err("the step panicked".to_owned())));
            reports.push(report);
            // Without an installer, there is nobody to tell.
            let _ = ended.send((attempt, result));
        });
        self.with_running(|running| running.insert(id, task.abort_handle()));
    }

    async fn stop(&self, attempts: &[Attempt]) -> Vec<Stopped> {
        let mut stopped = Vec::new();
        for attempt in attempts {
            if let Some(task) = self.with_running(|running| running.remove(&attempt.id())) {
                task.abort();
            }
            let hook = Hook::of_installer().find(|hook| hook.step == attempt.task.step);
            stopped.push(match hook {
                Some(_) => hooks::stop(&self.effects, attempt).await,
                None => Stopped::Canceled,
            });
        }
        stopped
    }
}
