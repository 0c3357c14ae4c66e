//! A running `outrigger up`, and clusters in it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use kube::core::DynamicObject;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::compat::tkestack_cluster;
use outrigger_api::machine::Machine;
use outrigger_testing::TestContext;
use outrigger_testing::kubernetes;
use outrigger_testing::machines::{Machines, Options, Server};
use serde_json::{Value, json};

use crate::deploy::binary;

pub(super) const TIMEOUT: Duration = Duration::from_mins(1);
/// The password of stand-in machines, base64-encoded.
pub(super) const PASSWORD: &str = "b3V0cmlnZ2Vy";

pub(super) fn machines(count: usize) -> anyhow::Result<Machines> {
    Machines::start(Options {
        count,
        ..Options::new(Server::OpenSsh)
    })
}

/// Between two looks at something that has no events.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Writes an executable file below a folder.
pub(crate) fn write_script(folder: &Path, name: &str, script: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    fs_err::create_dir_all(path.parent().context("a script has a folder")?)?;
    Ok(fs_err::write(path, script)?)
}

/// `outrigger up` in a folder of its own. Dropping it kills it.
pub(crate) struct Up {
    pub(crate) context: TestContext,
    pub(crate) kubeconfig: String,
    pub(crate) client: Client,
    process: Child,
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Up {
    pub(crate) fn context() -> anyhow::Result<TestContext> {
        TestContext::new(binary()?)
    }

    /// Starts it in the folder of the context.
    pub(crate) async fn start(context: TestContext, args: &[&str]) -> anyhow::Result<Self> {
        let args = ["up"].into_iter().chain(args.iter().copied());
        let mut command = context.command(args);
        let log = fs_err::File::create(context.directory().join("up.log"))?;
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(log.into_parts().0)
            .spawn()?;
        let stdout = process.stdout.take().context("stdout is a pipe")?;
        let mut kubeconfig = String::new();
        BufReader::new(stdout).read_line(&mut kubeconfig)?;
        let kubeconfig = kubeconfig.trim().to_owned();
        let log = context.directory().join("up.log");
        ensure!(!kubeconfig.is_empty(), "{}", fs_err::read_to_string(log)?);
        let up = Self {
            client: kubernetes::client(Path::new(&kubeconfig)).await?,
            kubeconfig,
            context,
            process,
        };
        tokio::time::timeout(TIMEOUT, up.until_served()).await?;
        Ok(up)
    }

    /// Waits until the definitions are installed.
    async fn until_served(&self) {
        let foreign = tkestack_cluster::resource();
        let foreign: Api<DynamicObject> = Api::all_with(self.client.clone(), &foreign);
        let list = kube::api::ListParams::default();
        while self.clusters().list(&list).await.is_err()
            || self.machines().list(&list).await.is_err()
            || foreign.list(&list).await.is_err()
        {
            pause().await;
        }
    }

    /// Runs a command of our binary on the cluster, and returns what it prints to stdout.
    pub(crate) fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = self.context.command(args.iter().copied());
        let output = command.env("KUBECONFIG", &self.kubeconfig).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{args:?}: {errors}");
        Ok(String::from_utf8(output.stdout)?)
    }

    pub(crate) fn clusters(&self) -> Api<Cluster> {
        Api::all(self.client.clone())
    }

    pub(crate) fn machines(&self) -> Api<Machine> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn create(&self, cluster: Value) -> anyhow::Result<()> {
        let cluster = serde_json::from_value(cluster)?;
        let parameters = kube::api::PostParams::default();
        self.clusters().create(&parameters, &cluster).await?;
        Ok(())
    }

    pub(super) async fn until(
        &self,
        name: &str,
        condition: impl Fn(&Cluster) -> bool + Send + Sync,
    ) -> anyhow::Result<Cluster> {
        let is_met = |cluster: Option<&Cluster>| cluster.is_some_and(&condition);
        let waiting = await_condition(self.clusters(), name, is_met);
        let Ok(found) = tokio::time::timeout(TIMEOUT, waiting).await else {
            let status = self.clusters().get(name).await?.status;
            anyhow::bail!("{name}: {status:#?}");
        };
        found?.context("the cluster is gone")
    }

    /// Waits until the cluster runs with the version of its spec.
    pub(super) async fn until_running(&self, name: &str) -> anyhow::Result<Cluster> {
        let is_running = |cluster: &Cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.phase == ClusterPhase::Running
                && status.version.as_deref() == Some(&cluster.spec.version)
        };
        self.until(name, is_running).await
    }

    pub(super) async fn until_deleted(&self, name: &str) -> anyhow::Result<()> {
        let is_gone = |cluster: Option<&Cluster>| cluster.is_none();
        let waiting = await_condition(self.clusters(), name, is_gone);
        tokio::time::timeout(TIMEOUT, waiting).await??;
        Ok(())
    }
}

/// A cluster with one script for some hooks.
pub(super) fn cluster(name: &str, addresses: &[String], hooks: &[&str]) -> Value {
    let machines: Vec<Value> = addresses
        .iter()
        .map(|ip| json!({"ip": ip, "password": PASSWORD}))
        .collect();
    let hooks = hooks
        .iter()
        .map(|hook| ((*hook).to_owned(), json!("/opt/hooks/hook")));
    let hooks: serde_json::Map<String, Value> = hooks.collect();
    json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {
            "version": "1.0.0", "machines": machines,
            "features": {"files": [{"src": "hook", "dst": "/opt/hooks/hook"}], "hooks": hooks},
        },
    })
}

pub(super) fn addresses(machines: &Machines) -> Vec<String> {
    let machines = machines.machines().iter();
    machines
        .map(|machine| machine.address.to_string())
        .collect()
}
