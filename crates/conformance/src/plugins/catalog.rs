//! `conformance catalog`: installs all charts of a KubeGems catalogue at once, as plugins of kind template, with their
//! upstream repositories replaced by a local one with stand-in charts of the same names.
//!
//! Every plugin becomes Ready, or does not for a reason that Helm gives too. Sources of kinds kustomize and git are
//! reported as not supported. With `--offline`, the charts are unchanged, and come from a registry that `image sync`
//! filled before the upstream repositories were switched off.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

mod archives;
mod children;
mod offline;
mod upstream;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_testing::kubernetes;
use outrigger_testing::peers::HELM4;
use serde_json::{Value, json};

use self::children::{Child, Output};
use self::upstream::Upstream;
use super::plugin_client;
use crate::process::{Controller, EmbeddedServer, Options, command, log_tail};

/// The namespace of the plugins. Their children are in the namespaces that the charts ask for.
const NAMESPACE: &str = "catalogue";

/// The namespace of charts that ask for none.
const DEFAULT_NAMESPACE: &str = "kubegems-installer";

/// The limit for all plugins together.
const TIMEOUT: Duration = Duration::from_mins(3);

/// How long nothing may change before the result is final.
const STABLE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory of plugin charts
    charts: PathBuf,
    /// Fill a registry with `image sync`, and switch off all upstream repositories before the plugins are installed
    #[arg(long)]
    offline: bool,
}

/// A plugin of the catalogue.
#[derive(Debug)]
struct CatalogPlugin {
    /// Its spec, except for the release and its namespace
    spec: Value,
    namespace: String,
    expected: Expected,
}

type Plugins = BTreeMap<String, CatalogPlugin>;

/// What becomes of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expected {
    Ready,
    /// Helm rejects the chart with this message.
    Rejected(String),
    /// A child has a source that is not supported: the parent repeats why.
    Unsupported(&'static str),
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    if args.offline {
        return offline::run(binary, &args.charts).await;
    }
    let scratch = tempfile::tempdir()?;
    let upstream = Upstream::start().await?;
    let mut plugins = Plugins::new();
    let mut stand_ins = Vec::new();
    for archive in archives::list(&args.charts)? {
        let (name, _) = archives::name_and_version(&archive)?;
        let local = scratch.path().join(format!("{name}.tgz"));
        archives::redirect(&archive, &local, &upstream.url)?;
        let spec = json!({"repo": format!("{}/{name}.tgz", upstream.url)});
        let (plugin, output) = catalog_plugin(&name, &local, spec).await?;
        stand_ins.extend(output.children);
        upstream.add(&format!("{name}.tgz"), fs_err::read(&local)?);
        plugins.insert(name, plugin);
    }
    upstream.add_stand_ins(&stand_ins, None)?;
    let site = Site::start(binary, scratch.path(), &[]).await?;
    site.install(&plugins).await
}

/// A plugin whose chart is in an archive, and what it renders to.
async fn catalog_plugin(
    name: &str,
    archive: &Path,
    spec: Value,
) -> anyhow::Result<(CatalogPlugin, Output)> {
    let namespace = archives::install_namespace(archive)?;
    let namespace = namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
    let (expected, output) = expectation(name, archive, &namespace).await?;
    let plugin = CatalogPlugin {
        spec,
        namespace,
        expected,
    };
    Ok((plugin, output))
}

/// A cluster with simulated workloads, and the controller.
struct Site {
    client: Client,
    log: PathBuf,
    _server: EmbeddedServer,
    _controller: Controller,
}

impl Site {
    async fn start(binary: &Path, directory: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let options = Options {
            binary: binary.to_owned(),
            data: directory.join("data"),
            simulate_workloads: true,
        };
        let server = EmbeddedServer::start(&options).await?;
        let log = directory.join("serve.log");
        let flags = [&["--compat"], flags].concat();
        let kubeconfig = &server.endpoint.kubeconfig;
        let controller = Controller::start_with(&flags, binary, kubeconfig, &log)?;
        let client = kubernetes::client(kubeconfig).await?;
        Ok(Self {
            client,
            log,
            _server: server,
            _controller: controller,
        })
    }

    async fn install(&self, plugins: &Plugins) -> anyhow::Result<()> {
        let result = install(&self.client, plugins).await;
        result.with_context(|| log_tail(&self.log))
    }
}

/// The manifest of a plugin.
fn manifest(name: &str, plugin: &CatalogPlugin) -> Value {
    let mut spec = plugin.spec.clone();
    spec["kind"] = "template".into();
    spec["installNamespace"] = plugin.namespace.as_str().into();
    // Children have the name and the namespace of their parents, and a release belongs to one plugin.
    spec["releaseName"] = format!("{name}-parent").into();
    json!({"apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
}

/// What Helm says about a chart, and what it renders.
async fn expectation(
    name: &str,
    archive: &Path,
    namespace: &str,
) -> anyhow::Result<(Expected, Output)> {
    let output = command(HELM4.installed()?)
        .args(["template", &format!("{name}-parent")])
        .arg(archive)
        .args(["--namespace", namespace])
        .output()
        .await?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let message = message.lines().next().unwrap_or_default();
        return Ok((Expected::Rejected(message.to_owned()), Output::default()));
    }
    let output = children::parse(&output.stdout)?;
    let unsupported = output.children.iter().find_map(Child::unsupported);
    let expected = unsupported.map_or(Expected::Ready, Expected::Unsupported);
    Ok((expected, output))
}

async fn install(client: &Client, expected: &Plugins) -> anyhow::Result<()> {
    let plugins: Api<Plugin> = Api::namespaced(client.clone(), NAMESPACE);
    plugin_client::wait_until_served(&plugins).await?;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    namespaces
        .create(&PostParams::default(), &namespace)
        .await?;
    let start = Instant::now();
    for (name, plugin) in expected {
        let plugin = serde_json::from_value(manifest(name, plugin))?;
        plugins.create(&PostParams::default(), &plugin).await?;
    }
    let found = settle(&plugins, expected).await?;
    let mut failures = Vec::new();
    for (name, CatalogPlugin { expected, .. }) in expected {
        let plugin = found.get(name).context("the plugin is gone")?;
        let ready = plugin.condition("Ready");
        let message = ready.map_or("", |ready| ready.message.as_str());
        println!(
            "{name:<28} {:<10} {}",
            format!("{:?}", plugin.phase()),
            first_line(message)
        );
        if !is_expected(plugin, message, expected) {
            failures.push(format!(
                "{name}: expected {expected:?}, is {:?}: {message}",
                plugin.phase()
            ));
        }
    }
    let ready = found
        .values()
        .filter(|plugin| plugin.phase() == Phase::Ready)
        .count();
    println!(
        "{} plugins in {:.1} s: {ready} Ready, the others as with Helm",
        expected.len(),
        start.elapsed().as_secs_f64()
    );
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

fn first_line(message: &str) -> String {
    message
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(150)
        .collect()
}

fn is_expected(plugin: &Plugin, message: &str, expected: &Expected) -> bool {
    match expected {
        Expected::Ready => plugin.phase() == Phase::Ready,
        // Helm's message begins with "Error: ".
        Expected::Rejected(reason) => {
            let reason = reason.trim_start_matches("Error: ");
            let reason = reason.split(':').next().unwrap_or_default();
            plugin.phase() == Phase::Failed && message.contains(reason)
        }
        Expected::Unsupported(reason) => plugin.phase() != Phase::Ready && message.contains(reason),
    }
}

/// Waits until all plugins are as expected, or nothing changes any more.
async fn settle(
    plugins: &Api<Plugin>,
    expected: &Plugins,
) -> anyhow::Result<BTreeMap<String, Plugin>> {
    let deadline = Instant::now() + TIMEOUT;
    let mut last_change = (Instant::now(), String::new());
    loop {
        let list = plugins.list(&ListParams::default()).await?;
        let version = list.metadata.resource_version.clone().unwrap_or_default();
        let found: BTreeMap<String, Plugin> = list
            .into_iter()
            .map(|plugin| (plugin.name_any(), plugin))
            .collect();
        let states: String = found
            .values()
            .map(|plugin| {
                format!(
                    "{:?}",
                    plugin
                        .status
                        .as_ref()
                        .map(|status| (status.phase, &status.conditions))
                )
            })
            .collect();
        if states != last_change.1 {
            last_change = (Instant::now(), states);
        }
        let is_done = expected
            .iter()
            .all(|(name, CatalogPlugin { expected, .. })| {
                found.get(name).is_some_and(|plugin| {
                    let ready = plugin.condition("Ready");
                    is_expected(plugin, ready.map_or("", |ready| &ready.message), expected)
                })
            });
        if is_done || last_change.0.elapsed() > 3 * STABLE {
            return Ok(found);
        }
        if Instant::now() > deadline {
            bail!("the plugins still change after {TIMEOUT:?} (resource version {version})");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
