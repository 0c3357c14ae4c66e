//! `conformance plugins`: installs and uninstalls chart archives with Helm 4 and then as plugins, on one real API server,
//! and compares the objects.
//!
//! If they differ, Helm installs the chart once more: values that differ between Helm's two installations are random and
//! are not compared.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers;
use serde_json::json;

use super::plugin_client;
use crate::process::{Controller, command};

mod cleanup;
mod rejection;
mod simulated_workloads;
mod snapshot;

use simulated_workloads::SimulatedWorkloads;
use snapshot::Snapshot;

/// The name of the release and of the plugin.
const NAME: &str = "rel";
const NAMESPACE: &str = "default";
/// The controllers that installations and removals need; workloads are simulated.
const CONTROLLERS: &str =
    "garbage-collector-controller,namespace-controller,serviceaccount-controller";
/// The admission plugin adds finalizers that only its controllers would remove.
const DISABLED_ADMISSION: &str = "StorageObjectInUseProtection";
/// The limit for the cluster to become stable.
const STABLE_TIMEOUT: Duration = Duration::from_mins(1);
/// The timeout that Helm and the plugin apply.
const INSTALL_TIMEOUT: &str = "60s";
/// The limit for the plugin to apply its timeout.
const PHASE_TIMEOUT: Duration = Duration::from_secs(90);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory of chart archives
    charts: PathBuf,
    /// Only charts whose name contains this text
    #[arg(long)]
    only: Option<String>,
    /// Only one share of the charts, for runs side by side: `1/2` and `2/2`
    #[arg(long, value_parser = parse_share)]
    share: Option<(usize, usize)>,
}

fn parse_share(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/');
    let numbers = parts.and_then(|(share, of)| Some((share.parse().ok()?, of.parse().ok()?)));
    let valid = numbers.filter(|(share, of)| (1..=*of).contains(share));
    valid.ok_or_else(|| "expected a share such as 1/2".to_owned())
}

/// The result of an installation and removal.
enum Installation {
    Installed {
        /// Objects after the installation.
        objects: Snapshot,
        /// Objects after the removal.
        remaining: Snapshot,
    },
    Rejected(String),
}

enum Comparison {
    Equal {
        objects: usize,
        remaining: usize,
        is_ready: bool,
    },
    BothReject(String),
    Differ(Vec<String>),
}

struct Environment {
    kubernetes: RealKubernetes,
    client: Client,
    /// The objects of the new cluster.
    base: Snapshot,
    home: PathBuf,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let charts = charts(args)?;
    let scratch = tempfile::tempdir()?;
    let kubernetes = RealKubernetes::start(Options {
        controllers: Some(CONTROLLERS),
        disabled_admission: DISABLED_ADMISSION,
        ..Options::default()
    })
    .await?;
    let client = kubernetes.client();
    let _workloads = SimulatedWorkloads::start(client.clone());
    let log = scratch.path().join("serve.log");
    let _controller = Controller::start(binary, kubernetes.kubeconfig(), &log)?;
    plugin_client::wait_until_served(&Api::<Plugin>::default_namespaced(client.clone())).await?;
    let environment = Environment {
        base: base(&client).await?,
        home: scratch.path().to_owned(),
        kubernetes,
        client,
    };
    let (mut equal, mut rejected, mut differing) = (0, 0, Vec::new());
    for chart in &charts {
        let name = name(chart);
        let comparison = match environment.compare(chart).await {
            Ok(comparison) => comparison,
            Err(error) => {
                let cleaned = cleanup::run(&environment).await;
                cleaned.with_context(|| format!("chart {name}: {error:#}"))?;
                Comparison::Differ(vec![format!("{error:#}")])
            }
        };
        print(&name, &comparison);
        match comparison {
            Comparison::Equal { .. } => equal += 1,
            Comparison::BothReject(_) => rejected += 1,
            Comparison::Differ(_) => differing.push(name),
        }
    }
    println!(
        "{} charts: {equal} have the same objects as with Helm 4 after installation and after removal, {rejected} are \
         rejected by both, {} differ",
        charts.len(),
        differing.len()
    );
    ensure!(
        differing.is_empty(),
        "charts differ: {}",
        differing.join(", ")
    );
    Ok(())
}

fn print(name: &str, comparison: &Comparison) {
    match comparison {
        Comparison::Equal {
            objects,
            remaining,
            is_ready,
        } => {
            let ready = if *is_ready { "" } else { ", not all ready" };
            println!("equal    {name}: {objects} objects, {remaining} after removal{ready}");
        }
        Comparison::BothReject(error) => println!("rejected {name}: {error}"),
        Comparison::Differ(differences) => {
            println!("DIFFERS  {name}");
            for line in differences.iter().take(10) {
                println!("         {line}");
            }
        }
    }
}

/// The objects of a new cluster, once each namespace has its service account.
async fn base(client: &Client) -> anyhow::Result<Snapshot> {
    let deadline = Instant::now() + STABLE_TIMEOUT;
    loop {
        let base = snapshot::take_stable(client, STABLE_TIMEOUT).await?;
        let mut namespaces = base
            .0
            .keys()
            .filter_map(|key| key.strip_prefix("namespaces.//"));
        let has_account = |name: &str| {
            base.0
                .contains_key(&format!("serviceaccounts./{name}/default"))
        };
        if namespaces.all(has_account) {
            return Ok(base);
        }
        ensure!(
            Instant::now() < deadline,
            "a namespace has no service account"
        );
    }
}

fn charts(args: &Args) -> anyhow::Result<Vec<PathBuf>> {
    let only = args.only.as_deref().unwrap_or_default();
    let mut charts = Vec::new();
    for entry in fs_err::read_dir(&args.charts)? {
        let path = entry?.path();
        let is_archive = path.extension().is_some_and(|extension| extension == "tgz");
        if is_archive && name(&path).contains(only) {
            charts.push(fs_err::canonicalize(path)?);
        }
    }
    charts.sort();
    if let Some((share, of)) = args.share {
        charts = charts.into_iter().skip(share - 1).step_by(of).collect();
    }
    ensure!(!charts.is_empty(), "no chart archive matches");
    Ok(charts)
}

fn name(chart: &Path) -> String {
    let stem = chart.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

impl Environment {
    async fn compare(&self, chart: &Path) -> anyhow::Result<Comparison> {
        let theirs = self.install_with_helm(chart).await.context("helm")?;
        let (ours, is_ready) = self.install_as_plugin(chart).await.context("plugin")?;
        let (objects, remaining, our_objects, our_remaining) = match (theirs, ours) {
            (Installation::Rejected(theirs), Installation::Rejected(ours)) => {
                return Ok(if rejection::is_same(&theirs, &ours) {
                    Comparison::BothReject(theirs)
                } else {
                    let lines = [format!("Helm: {theirs}"), format!("ours: {ours}")];
                    Comparison::Differ(lines.into())
                });
            }
            (Installation::Rejected(error), Installation::Installed { .. }) => {
                let line = format!("only Helm rejects the chart: {error}");
                return Ok(Comparison::Differ(vec![line]));
            }
            (Installation::Installed { .. }, Installation::Rejected(error)) => {
                let line = format!("only the plugin rejects the chart: {error}");
                return Ok(Comparison::Differ(vec![line]));
            }
            (
                Installation::Installed { objects, remaining },
                Installation::Installed {
                    objects: our_objects,
                    remaining: our_remaining,
                },
            ) => (objects, remaining, our_objects, our_remaining),
        };
        let mut differences = objects.differences(&objects, &our_objects);
        differences.extend(remaining.excess(&remaining, &our_remaining));
        if !differences.is_empty()
            && let Installation::Installed {
                objects: second,
                remaining: second_remaining,
            } = self.install_with_helm(chart).await?
        {
            differences = objects.common(&second).differences(&objects, &our_objects);
            let excess = remaining
                .common(&second_remaining)
                .excess(&remaining, &our_remaining);
            differences.extend(excess.iter().map(|text| format!("after removal: {text}")));
        }
        if !differences.is_empty() {
            return Ok(Comparison::Differ(differences));
        }
        Ok(Comparison::Equal {
            objects: objects.0.len(),
            remaining: our_remaining.0.len(),
            is_ready,
        })
    }

    async fn install_with_helm(&self, chart: &Path) -> anyhow::Result<Installation> {
        let file = chart.to_string_lossy();
        let install = ["install", NAME, &file, "--timeout", INSTALL_TIMEOUT];
        if let Err(error) = self.helm(&install).await? {
            // The objects of a failed installation are not compared.
            let uninstall = ["uninstall", NAME, "--no-hooks", "--ignore-not-found"];
            let _ = self.helm(&uninstall).await?;
            cleanup::run(self).await?;
            return Ok(Installation::Rejected(error));
        }
        let objects = self.added_objects().await?.without_release_records();
        let uninstall = ["uninstall", NAME, "--timeout", INSTALL_TIMEOUT];
        let uninstalled = self.helm(&uninstall).await?;
        uninstalled.map_err(anyhow::Error::msg)?;
        let remaining = self.added_objects().await?;
        cleanup::run(self).await?;
        Ok(Installation::Installed { objects, remaining })
    }

    /// Runs Helm; the inner error is its message.
    async fn helm(&self, args: &[&str]) -> anyhow::Result<Result<(), String>> {
        let output = command(peers::HELM4.installed()?)
            .args(args)
            .args(["--namespace", NAMESPACE])
            .env("KUBECONFIG", self.kubernetes.kubeconfig())
            .env("HOME", &self.home)
            .output()
            .await?;
        if output.status.success() {
            return Ok(Ok(()));
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let errors: Vec<&str> = stderr
            .lines()
            .filter(|line| !line.starts_with("level="))
            .collect();
        Ok(Err(errors.join("\n")))
    }

    async fn install_as_plugin(&self, chart: &Path) -> anyhow::Result<(Installation, bool)> {
        let plugins: Api<Plugin> = Api::namespaced(self.client.clone(), NAMESPACE);
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": NAME},
            "spec": {"repo": format!("file://{}", chart.display()), "timeout": INSTALL_TIMEOUT, "retries": 0},
        });
        let plugin: Plugin = serde_json::from_value(plugin)?;
        plugins.create(&PostParams::default(), &plugin).await?;
        let installed = match wait_until_applied(&plugins).await? {
            Ok(is_ready) => {
                let objects = self.added_objects().await?.without_release_records();
                Ok((objects, is_ready))
            }
            Err(message) => Err(message),
        };
        plugins.delete(NAME, &DeleteParams::default()).await?;
        let is_gone = |plugin: Option<&Plugin>| plugin.is_none();
        let gone = await_condition(plugins, NAME, is_gone);
        let gone = tokio::time::timeout(PHASE_TIMEOUT, gone).await;
        gone.context("the plugin is not removed")??;
        let remaining = self.added_objects().await?;
        cleanup::run(self).await?;
        Ok(match installed {
            Ok((objects, is_ready)) => (Installation::Installed { objects, remaining }, is_ready),
            Err(message) => (Installation::Rejected(message), false),
        })
    }

    /// The objects that the new cluster did not have.
    async fn added_objects(&self) -> anyhow::Result<Snapshot> {
        let all = snapshot::take_stable(&self.client, STABLE_TIMEOUT).await?;
        Ok(all.without(&self.base))
    }
}

/// Waits until the plugin is Ready or has failed. Returns whether it is Ready, or the message if it was not applied.
async fn wait_until_applied(plugins: &Api<Plugin>) -> anyhow::Result<Result<bool, String>> {
    let is_final = |plugin: Option<&Plugin>| {
        let status = plugin.and_then(|plugin| plugin.status.as_ref());
        status.is_some_and(|status| {
            matches!(status.phase, Phase::Ready | Phase::Failed | Phase::Degraded)
        })
    };
    let reached = await_condition(plugins.clone(), NAME, is_final);
    let _ = tokio::time::timeout(PHASE_TIMEOUT, reached).await;
    let status = plugins.get(NAME).await?.status.unwrap_or_default();
    let condition = |kind: &str| {
        let mut conditions = status.conditions.iter();
        conditions.find(|condition| condition.kind == kind)
    };
    if status.phase == Phase::Ready {
        return Ok(Ok(true));
    }
    if condition("Applied").is_some_and(|applied| applied.status == ConditionStatus::True) {
        return Ok(Ok(false));
    }
    let message = condition("Ready").map_or("no Ready condition", |ready| &ready.message);
    Ok(Err(message.to_owned()))
}
