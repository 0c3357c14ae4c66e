//! A running `outrigger install`, and the rights of the operator that it starts.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use outrigger_api::cluster::Cluster;
use outrigger_api::installation::{Installation, InstallationPhase};
use outrigger_registry::{Server, ServerOptions, Store, StoreOptions};
use outrigger_testing::{TestContext, kubernetes};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::clusters::fixture::pause;

const TIMEOUT: Duration = Duration::from_mins(2);

/// `outrigger install --serve`. Dropping it kills it.
pub(super) struct Install {
    pub(super) client: Client,
    process: Child,
    log: PathBuf,
}

impl Drop for Install {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Install {
    pub(super) async fn start(
        context: &TestContext,
        args: &[&str],
        data: &str,
    ) -> anyhow::Result<Self> {
        let log = context.directory().join(format!("{data}.log"));
        let file = fs_err::File::create(&log)?;
        let mut command = context.command(args.iter().copied());
        let mut process = command
            .stdout(Stdio::null())
            .stderr(file.into_parts().0)
            .spawn()?;
        let kubeconfig = context.directory().join(data).join("kubeconfig");
        let client = connect(&kubeconfig, &mut process);
        let client = tokio::time::timeout(TIMEOUT, client).await;
        let client = client.ok().flatten();
        let client = client.with_context(|| fs_err::read_to_string(&log).unwrap_or_default())?;
        Ok(Self {
            client,
            process,
            log,
        })
    }

    pub(super) async fn until_installed(&self, name: &str) -> anyhow::Result<Installation> {
        let api: Api<Installation> = Api::all(self.client.clone());
        let is_installed = |found: Option<&Installation>| {
            let status = found.and_then(|found| found.status.as_ref());
            status.is_some_and(|status| status.phase == InstallationPhase::Installed)
        };
        let waiting = await_condition(api.clone(), name, is_installed);
        if let Ok(found) = tokio::time::timeout(TIMEOUT, waiting).await {
            return found?.context("the installation is gone");
        }
        let status = api.get_opt(name).await?.and_then(|found| found.status);
        let log = fs_err::read_to_string(&self.log)?;
        anyhow::bail!("{log}\n{status:#?}")
    }

    /// Ends it, as Ctrl-C does.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        let process = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(process, rustix::process::Signal::INT)?;
        let exited = tokio::task::spawn_blocking(move || {
            let status = self.process.wait();
            (status, self.log.clone())
        });
        let (status, log) = tokio::time::timeout(TIMEOUT, exited).await??;
        ensure!(status?.success(), "{}", fs_err::read_to_string(log)?);
        Ok(())
    }
}

/// The registry of a site.
pub(super) struct SiteRegistry {
    /// `HOST:PORT`
    pub(super) address: String,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl SiteRegistry {
    pub(super) async fn start(folder: &Path) -> anyhow::Result<Self> {
        let store = Store::open(folder, StoreOptions::default())?;
        let any = "127.0.0.1:0".parse()?;
        let server = Server::bind(any, store, ServerOptions::default()).await?;
        let address = server.address()?.to_string();
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(server.run(async move { drop(stopped.await) }));
        Ok(Self {
            address,
            stop,
            server,
        })
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        Ok(self.server.await?)
    }
}

/// Connects when the server has written its kubeconfig and serves the kinds. `None` if the process ended.
async fn connect(kubeconfig: &Path, process: &mut Child) -> Option<Client> {
    while process.try_wait().ok()?.is_none() {
        if let Ok(client) = kubernetes::client(kubeconfig).await {
            let api: Api<Installation> = Api::all(client.clone());
            let clusters: Api<Cluster> = Api::all(client.clone());
            let list = kube::api::ListParams::default();
            if api.list(&list).await.is_ok() && clusters.list(&list).await.is_ok() {
                return Some(client);
            }
        }
        pause().await;
    }
    None
}

/// What the operator of the package may do with its kubeconfig: nothing but the condition that is delegated to it.
pub(super) async fn check_operator_rights(
    kubeconfig: &Path,
    cluster: &str,
    delegated: &str,
) -> anyhow::Result<()> {
    let client = kubernetes::client(kubeconfig).await?;
    let clusters: Api<Cluster> = Api::all(client.clone());
    let read = clusters.get(cluster).await?;
    let patched = async |status: Value| {
        let patch = Patch::Merge(json!({"status": status}));
        let parameters = PatchParams::default();
        clusters.patch_status(cluster, &parameters, &patch).await
    };
    let conditions = |kind: &str| -> anyhow::Result<Value> {
        let mut conditions = read.status.clone().unwrap_or_default().conditions;
        let mut found = conditions.iter_mut().filter(|it| it.kind == kind);
        let found = found.next().context("the condition exists")?;
        "patched by the operator".clone_into(&mut found.message);
        Ok(json!({"conditions": conditions}))
    };
    patched(conditions(delegated)?).await?;
    let refused = patched(conditions("EnsurePreClusterInstallHook")?).await;
    let error = refused.err().context("another condition was written")?;
    ensure!(
        error.to_string().contains("delegated to it only"),
        "{error}"
    );
    let refused = patched(json!({"phase": "Failed"})).await;
    let error = refused.err().context("the phase was written")?;
    ensure!(
        error
            .to_string()
            .contains("conditions and delegations only"),
        "{error}"
    );
    let secrets: Api<Secret> = Api::all(client.clone());
    let list = kube::api::ListParams::default();
    ensure!(secrets.list(&list).await.is_err(), "Secrets were read");
    let spec = Patch::Merge(json!({"spec": {"version": "9.9.9"}}));
    let refused = clusters
        .patch(cluster, &PatchParams::default(), &spec)
        .await;
    ensure!(refused.is_err(), "the spec was written");
    Ok(())
}
