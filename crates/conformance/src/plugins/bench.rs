//! `bench plugins`: 100 plugins against Helm, a chain of dependencies, and 1,000 plugins without changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Secret};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use outrigger_api::plugin::Plugin;
use outrigger_testing::kubernetes::{self, RealKubernetes};
use outrigger_testing::peers::{self, Peer};
use serde_json::json;

use super::chart;
use super::cluster::Cluster;
use super::plugin_client::PluginClient;
use crate::bench::{Report, mebibytes};
use crate::process::{Controller, command};
use crate::procfs;

/// Plugins that are installed concurrently.
const PLUGINS: usize = 100;
/// Plugins that each depend on the previous one.
const CHAIN: usize = 30;
/// Plugins that are reconciled without changes.
const IDLE: usize = 1000;
const CONCURRENT_HELMS: usize = 4;
const TIMEOUT: Duration = Duration::from_mins(5);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parts to skip
    #[arg(long, value_enum)]
    skip: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Everything on the embedded server
    Embedded,
    /// Everything on the real server
    Real,
    /// Helm on the real server
    Helm,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let bench = Bench {
        binary,
        skips_helm: args.skip.contains(&Part::Helm),
        scratch: scratch.path(),
        repository: scratch.path().join("charts"),
    };
    chart::write(&bench.repository, "1.0.0")?;
    let mut report = Report::default();
    if !args.skip.contains(&Part::Embedded) {
        bench.embedded_server(&mut report).await?;
    }
    if !args.skip.contains(&Part::Real) {
        bench.against_helm(&mut report).await?;
    }
    report.finish()
}

struct Bench<'a> {
    binary: &'a Path,
    skips_helm: bool,
    scratch: &'a Path,
    repository: PathBuf,
}

/// One installation of all plugins on the real server.
struct Installation {
    time: Duration,
    /// The controller's peak memory in bytes.
    peak_memory: u64,
}

impl Bench<'_> {
    async fn embedded_server(&self, report: &mut Report) -> anyhow::Result<()> {
        let (cluster, controller) = Cluster::start(self.binary, self.scratch).await?;
        let plugins = &cluster.plugins;
        warm_up(plugins).await?;

        let time = install(plugins).await?.as_secs_f64();
        report.at_most("100 plugins to Ready, embedded", time, 3.0, "s");
        delete_all(plugins).await?;

        let single = install_chain(plugins, 1).await?;
        let chain = install_chain(plugins, CHAIN).await?;
        #[expect(clippy::cast_precision_loss, reason = "it is 30")]
        let hop = (chain.as_secs_f64() - single.as_secs_f64()) * 1e3 / (CHAIN - 1) as f64;
        report.at_most("each hop of a chain of 30, embedded", hop, 50.0, "ms");

        let idle = (0..IDLE)
            .map(|number| plugins.plugin(&format!("idle-{number:04}"), json!({})))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let start = Instant::now();
        plugins.create(idle).await?;
        plugins.wait_until_reconciled(IDLE, TIMEOUT).await?;
        let time = start.elapsed().as_secs_f64();
        Report::measured("1,000 plugins to Ready, embedded", time, "s");
        let memory = mebibytes(procfs::peak_memory(controller.pid()?)?);
        Report::measured("controller's memory with 1,000 plugins", memory, "MiB");
        controller.kill().await?;

        let before = resource_versions(&cluster.client).await?;
        let controller = cluster.start_controller()?;
        let cpu = procfs::cpu_time_when_idle(controller.pid()?).await?;
        report.at_most(
            "CPU to reconcile 1,000 Ready plugins",
            cpu.as_secs_f64(),
            2.0,
            "s",
        );
        let after = resource_versions(&cluster.client).await?;
        let written = written(&before, &after);
        let writes = f64::from(u32::try_from(written.len())?);
        report.at_most("writes for 1,000 Ready plugins", writes, 0.0, "");
        if let Some(first) = written.first() {
            bail!("the controller wrote without a change: {first}");
        }
        controller.kill().await
    }

    /// Compares each Helm with the installations just before and just after it, since the speed of a machine varies.
    async fn against_helm(&self, report: &mut Report) -> anyhow::Result<()> {
        let options = kubernetes::Options {
            controllers: Some("garbage-collector-controller,namespace-controller"),
            durable: true,
            ..kubernetes::Options::default()
        };
        let real = RealKubernetes::start(options).await?;
        let mut ours = vec![self.real_server(&real).await?];
        let mut ratios = Vec::new();
        for peer in [peers::HELM3, peers::HELM4] {
            let mut time = None;
            if !self.skips_helm {
                procfs::wait_until_idle(TIMEOUT).await?;
                time = Some(self.helm(peer, real.kubeconfig()).await?);
                check(&real.client(), peer.name).await?;
            }
            ours.push(self.real_server(&real).await?);
            if let (Some(time), [.., before, after]) = (time, ours.as_slice()) {
                let title = format!("100 installations by {}, 4 at a time", peer.name);
                Report::measured(&title, time.as_secs_f64(), "s");
                let mean = (before.time + after.time) / 2;
                ratios.push((peer.name, time.as_secs_f64() / mean.as_secs_f64()));
            }
        }
        let peak = ours
            .iter()
            .map(|installation| installation.peak_memory)
            .max();
        let peak = mebibytes(peak.unwrap_or_default());
        report.at_most("controller's memory", peak, 64.0, "MiB");
        for (name, ratio) in ratios {
            report.at_least(&format!("faster than {name}"), ratio, 8.0, "x");
        }
        Ok(())
    }

    /// Installs all plugins on the real server and deletes them. The controller does not run while Helm does.
    async fn real_server(&self, real: &RealKubernetes) -> anyhow::Result<Installation> {
        let log = self.scratch.join("real.log");
        let controller = Controller::start(self.binary, real.kubeconfig(), &log)?;
        let plugins = PluginClient::new(real.client(), &self.repository).await?;
        warm_up(&plugins).await?;
        procfs::wait_until_idle(TIMEOUT).await?;
        let time = install(&plugins).await?;
        let title = "100 plugins to Ready, real Kubernetes";
        Report::measured(title, time.as_secs_f64(), "s");
        check(&real.client(), "plugin").await?;
        let peak_memory = procfs::peak_memory(controller.pid()?)?;
        delete_all(&plugins).await?;
        controller.kill().await?;
        Ok(Installation { time, peak_memory })
    }

    /// Runs `helm install` of the test chart for each release.
    async fn helm(&self, peer: Peer, kubeconfig: &Path) -> anyhow::Result<Duration> {
        let program = peer.installed()?;
        let home = self.scratch.join(peer.name);
        fs_err::create_dir(&home)?;
        let chart = self.repository.join("small");
        let start = Instant::now();
        let installs = (0..PLUGINS).map(|number| {
            let mut helm = command(&program);
            helm.args(["install", &format!("{}-{number}", peer.name)])
                .arg(&chart)
                .env("KUBECONFIG", kubeconfig)
                .env("HOME", &home)
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            async move {
                let output = helm.output().await?;
                let stderr = String::from_utf8_lossy(&output.stderr);
                ensure!(output.status.success(), "helm install failed: {stderr}");
                anyhow::Ok(())
            }
        });
        let installs = futures::stream::iter(installs).buffer_unordered(CONCURRENT_HELMS);
        installs.try_collect::<()>().await?;
        Ok(start.elapsed())
    }
}

/// Installs one plugin and deletes it, so that measurements do not include first-time costs.
async fn warm_up(plugins: &PluginClient) -> anyhow::Result<()> {
    plugins
        .create(vec![plugins.plugin("warm-up", json!({}))?])
        .await?;
    plugins.wait_until_reconciled(1, TIMEOUT).await?;
    delete_all(plugins).await
}

/// Installs all plugins and returns the time until they are Ready.
async fn install(plugins: &PluginClient) -> anyhow::Result<Duration> {
    let created = (0..PLUGINS)
        .map(|number| plugins.plugin(&format!("plugin-{number}"), json!({})))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let start = Instant::now();
    let (created, reconciled) = tokio::join!(
        plugins.create(created),
        plugins.wait_until_reconciled(PLUGINS, TIMEOUT)
    );
    created.and(reconciled)?;
    Ok(start.elapsed())
}

async fn delete_all(plugins: &PluginClient) -> anyhow::Result<()> {
    let all = plugins.api.list_metadata(&ListParams::default()).await?;
    let names = all.iter().map(ResourceExt::name_any).collect();
    plugins.delete(names).await?;
    plugins.wait_until_reconciled(0, TIMEOUT).await
}

/// Installs a chain of dependencies and returns the time until it is Ready. The plugin without a dependency is created
/// last, so that all others have to wait.
async fn install_chain(plugins: &PluginClient, length: usize) -> anyhow::Result<Duration> {
    let link = |number: usize| {
        let dependency = number
            .checked_sub(1)
            .map(|previous| json!({"name": format!("link-{previous}")}));
        let dependencies: Vec<_> = dependency.into_iter().collect();
        plugins.plugin(
            &format!("link-{number}"),
            json!({"dependencies": dependencies}),
        )
    };
    let dependents = (1..length)
        .rev()
        .map(link)
        .collect::<anyhow::Result<Vec<_>>>()?;
    plugins.create(dependents).await?;
    let start = Instant::now();
    let (created, reconciled) = tokio::join!(
        plugins.create(vec![link(0)?]),
        plugins.wait_until_reconciled(length, TIMEOUT)
    );
    created.and(reconciled)?;
    let time = start.elapsed();
    // A plugin is not removed before its dependents.
    for number in (0..length).rev() {
        plugins.delete(vec![format!("link-{number}")]).await?;
    }
    plugins.wait_until_reconciled(0, TIMEOUT).await?;
    Ok(time)
}

/// Checks that all objects of all releases with this prefix exist.
async fn check(client: &Client, prefix: &str) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let maps = maps.list_metadata(&ListParams::default()).await?;
    let found = maps
        .iter()
        .filter(|map| map.name_any().starts_with(prefix))
        .count();
    let expected = PLUGINS * chart::CONFIG_MAPS;
    ensure!(
        found == expected,
        "{prefix}: {found} ConfigMaps, not {expected}"
    );
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let deployed = ListParams::default().labels("owner=helm,status=deployed");
    let records = secrets.list_metadata(&deployed).await?;
    let has_prefix = |name: &String| name.starts_with(prefix);
    let found = records
        .iter()
        .filter(|record| record.labels().get("name").is_some_and(has_prefix))
        .count();
    ensure!(
        found == PLUGINS,
        "{prefix}: {found} releases, not {PLUGINS}"
    );
    Ok(())
}

/// The resource versions of plugins, their objects and events.
async fn resource_versions(client: &Client) -> anyhow::Result<BTreeMap<String, Option<String>>> {
    let plugins: Api<Plugin> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let events: Api<Event> = Api::default_namespaced(client.clone());
    let params = ListParams::default();
    let mut versions = BTreeMap::new();
    let mut add = |kind: &str, name: String, version| {
        versions.insert(format!("{kind} {name}"), version);
    };
    for object in plugins.list_metadata(&params).await? {
        add("Plugin", object.name_any(), object.resource_version());
    }
    for object in secrets.list_metadata(&params).await? {
        add("Secret", object.name_any(), object.resource_version());
    }
    for object in maps.list_metadata(&params).await? {
        add("ConfigMap", object.name_any(), object.resource_version());
    }
    for object in events.list_metadata(&params).await? {
        add("Event", object.name_any(), object.resource_version());
    }
    Ok(versions)
}

/// Objects that were created, changed or deleted.
fn written<'a>(
    before: &'a BTreeMap<String, Option<String>>,
    after: &'a BTreeMap<String, Option<String>>,
) -> BTreeSet<&'a String> {
    let all = before.keys().chain(after.keys());
    all.filter(|name| before.get(*name) != after.get(*name))
        .collect()
}
