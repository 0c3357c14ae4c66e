//! `trials bench`: a hundred plugins beside Helm, a long chain of dependencies, and a thousand with nothing to do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers::{self, Peer};
use serde_json::json;

use crate::fleet::Fleet;
use crate::process::{self, Embedded, command};
use crate::verdict::{Verdict, tell};
use crate::{chart, usage};

/// Plugins that are installed at once.
const PLUGINS: usize = 100;
/// Plugins that each wait for the one before.
const CHAIN: usize = 30;
/// Plugins that nothing is to be done for.
const IDLE: usize = 1000;
/// Installations of Helm at a time.
const HELMS: usize = 4;

const MIB: f64 = (1 << 20) as f64;
const WITHIN: Duration = Duration::from_mins(5);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// Parts to leave out
    #[arg(long, value_enum)]
    skip: Vec<Part>,
}

/// Parts of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// All on the embedded server
    Embedded,
    /// All on the real server
    Real,
    /// Helm on the real server
    Helm,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let repository = scratch.path().join("charts");
    chart::write(&repository, "1.0.0")?;
    let mut verdict = Verdict::default();
    if !args.skip.contains(&Part::Embedded) {
        on_the_embedded(args, scratch.path(), &repository, &mut verdict).await?;
    }
    if !args.skip.contains(&Part::Real) {
        beside_helm(args, scratch.path(), &repository, &mut verdict).await?;
    }
    verdict.end()
}

async fn on_the_embedded(
    args: &Args,
    scratch: &Path,
    repository: &Path,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let folder = scratch.join("embedded");
    fs_err::create_dir(&folder)?;
    let server = Embedded::start(&args.binary, &folder).await?;
    let client = process::client(&server.kubeconfig).await?;
    let log = scratch.join("serve.log");
    let mut controller = process::serve(&args.binary, &server.kubeconfig, &log)?;
    let fleet = Fleet::new(client.clone(), repository).await?;
    warm_up(&fleet).await?;

    let time = install(&fleet, "plugin").await?;
    verdict.at_most(
        "100 plugins to Ready, embedded",
        time.as_secs_f64(),
        3.0,
        "s",
    );
    remove(&fleet).await?;

    let single = chain(&fleet, 1).await?;
    let whole = chain(&fleet, CHAIN).await?;
    #[expect(clippy::cast_precision_loss, reason = "it is 30")]
    let hop = (whole.as_secs_f64() - single.as_secs_f64()) * 1e3 / (CHAIN - 1) as f64;
    verdict.at_most("each hop of a chain of 30, embedded", hop, 50.0, "ms");

    let plugins = (0..IDLE)
        .map(|number| fleet.plugin(&format!("idle-{number:04}"), json!({})))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let begin = Instant::now();
    fleet.create(plugins).await?;
    fleet.settled(IDLE, WITHIN).await?;
    tell(
        "1,000 plugins to Ready, embedded",
        begin.elapsed().as_secs_f64(),
        "s",
    );
    let id = controller.id().context("the controller runs")?;
    let peak = usage::peak_memory(id)?;
    tell("controller's memory with 1,000 plugins", mib(peak), "MiB");
    controller.kill().await?;

    let before = versions(&client).await?;
    let mut controller = process::serve(&args.binary, &server.kubeconfig, &log)?;
    let id = controller.id().context("the controller runs")?;
    let used = when_quiet(id).await?;
    verdict.at_most(
        "CPU to look at 1,000 Ready plugins",
        used.as_secs_f64(),
        2.0,
        "s",
    );
    let after = versions(&client).await?;
    let both = before.keys().chain(after.keys());
    let written: BTreeSet<&String> = both
        .filter(|name| before.get(*name) != after.get(*name))
        .collect();
    let writes = f64::from(u32::try_from(written.len())?);
    verdict.at_most("writes for 1,000 Ready plugins", writes, 0.0, "");
    if let Some(first) = written.first() {
        bail!("the controller wrote though nothing had changed: {first}");
    }
    controller.kill().await?;
    Ok(())
}

/// A machine may be slower for a while: each Helm is compared with what was measured just before and just after it.
async fn beside_helm(
    args: &Args,
    scratch: &Path,
    repository: &Path,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let real = Options {
        controllers: Some("garbage-collector-controller,namespace-controller"),
        durable: true,
        ..Options::default()
    };
    let real = RealKubernetes::start(real).await?;
    let mut ours = vec![on_the_real(args, scratch, repository, &real).await?];
    let mut ratios = Vec::new();
    for (peer, name) in [(peers::HELM3, "helm3"), (peers::HELM4, "helm4")] {
        let mut time = None;
        if !args.skip.contains(&Part::Helm) {
            usage::until_idle(WITHIN).await?;
            time = Some(helm(peer, real.kubeconfig(), scratch, repository, name).await?);
            check(&real.client(), name).await?;
        }
        ours.push(on_the_real(args, scratch, repository, &real).await?);
        if let (Some(time), [.., before, after]) = (time, ours.as_slice()) {
            let title = format!("100 installations by {name}, 4 at a time");
            tell(&title, time.as_secs_f64(), "s");
            let mean = (before.time + after.time) / 2;
            ratios.push((name, time.as_secs_f64() / mean.as_secs_f64()));
        }
    }
    let peak = ours.iter().map(|round| round.memory).max();
    let peak = mib(peak.unwrap_or_default());
    verdict.at_most("controller's memory", peak, 64.0, "MiB");
    for (name, ratio) in ratios {
        verdict.at_least(&format!("faster than {name}"), ratio, 8.0, "x");
    }
    Ok(())
}

/// What one installation of all plugins took.
struct Round {
    time: Duration,
    /// The most that the controller had, in bytes.
    memory: u64,
}

/// Installs all plugins on the real server and removes them. The controller does not run while Helm does.
async fn on_the_real(
    args: &Args,
    scratch: &Path,
    repository: &Path,
    real: &RealKubernetes,
) -> anyhow::Result<Round> {
    let log = scratch.join("real.log");
    let mut controller = process::serve(&args.binary, real.kubeconfig(), &log)?;
    let fleet = Fleet::new(real.client(), repository).await?;
    warm_up(&fleet).await?;
    usage::until_idle(WITHIN).await?;
    let time = install(&fleet, "plugin").await?;
    tell(
        "100 plugins to Ready, real Kubernetes",
        time.as_secs_f64(),
        "s",
    );
    check(&real.client(), "plugin").await?;
    let memory = usage::peak_memory(controller.id().context("the controller runs")?)?;
    remove(&fleet).await?;
    controller.kill().await?;
    Ok(Round { time, memory })
}

/// One plugin before all others: what is measured is not the first use of anything.
async fn warm_up(fleet: &Fleet) -> anyhow::Result<()> {
    fleet.create(vec![fleet.plugin("warm", json!({}))?]).await?;
    fleet.settled(1, WITHIN).await?;
    remove(fleet).await
}

/// The time until all are Ready.
async fn install(fleet: &Fleet, prefix: &str) -> anyhow::Result<Duration> {
    let plugins = (0..PLUGINS)
        .map(|number| fleet.plugin(&format!("{prefix}-{number}"), json!({})))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let begin = Instant::now();
    let (created, settled) = tokio::join!(fleet.create(plugins), fleet.settled(PLUGINS, WITHIN));
    created.and(settled)?;
    Ok(begin.elapsed())
}

/// Takes all plugins away and waits until they are gone.
async fn remove(fleet: &Fleet) -> anyhow::Result<()> {
    let plugins = fleet.plugins.list_metadata(&ListParams::default()).await?;
    let names = plugins.iter().map(ResourceExt::name_any).collect();
    fleet.delete(names).await?;
    fleet.settled(0, WITHIN).await
}

/// The time until a chain of so many is Ready. The last comes first, so that all have to wait.
async fn chain(fleet: &Fleet, length: usize) -> anyhow::Result<Duration> {
    let link = |number: usize| {
        let before = number
            .checked_sub(1)
            .map(|before| json!({"name": format!("link-{before}")}));
        let dependencies: Vec<_> = before.into_iter().collect();
        fleet.plugin(
            &format!("link-{number}"),
            json!({"dependencies": dependencies}),
        )
    };
    let rest = (1..length)
        .rev()
        .map(link)
        .collect::<anyhow::Result<Vec<_>>>()?;
    fleet.create(rest).await?;
    let begin = Instant::now();
    let first = vec![link(0)?];
    let (created, settled) = tokio::join!(fleet.create(first), fleet.settled(length, WITHIN));
    created.and(settled)?;
    let time = begin.elapsed();
    // Those that others depend on would wait for them.
    for number in (0..length).rev() {
        fleet.delete(vec![format!("link-{number}")]).await?;
    }
    fleet.settled(0, WITHIN).await?;
    Ok(time)
}

/// `helm install` of the same chart, four at a time.
async fn helm(
    peer: Peer,
    kubeconfig: &Path,
    scratch: &Path,
    repository: &Path,
    prefix: &str,
) -> anyhow::Result<Duration> {
    let program = peer.installed()?;
    let home = scratch.join(prefix);
    fs_err::create_dir(&home)?;
    let chart = repository.join("small");
    let begin = Instant::now();
    let installs = (0..PLUGINS).map(|number| {
        let mut helm = command(&program);
        helm.args(["install", &format!("{prefix}-{number}")])
            .arg(&chart)
            .env("KUBECONFIG", kubeconfig)
            .env("HOME", &home)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        async move {
            let output = helm.output().await?;
            let complaint = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "helm install failed: {complaint}");
            anyhow::Ok(())
        }
    });
    let installs = futures::stream::iter(installs).buffer_unordered(HELMS);
    installs.try_collect::<()>().await?;
    Ok(begin.elapsed())
}

/// All objects of all releases with this prefix are there.
async fn check(client: &Client, prefix: &str) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let maps = maps.list_metadata(&ListParams::default()).await?;
    let found = maps
        .iter()
        .filter(|map| map.name_any().starts_with(prefix))
        .count();
    let expected = PLUGINS * (chart::OBJECTS - 8);
    ensure!(
        found == expected,
        "{prefix}: {found} config maps, not {expected}"
    );
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let deployed = ListParams::default().labels("owner=helm,status=deployed");
    let records = secrets.list_metadata(&deployed).await?;
    let name = |record: &kube::core::PartialObjectMeta<Secret>| {
        record
            .labels()
            .get("name")
            .is_some_and(|name| name.starts_with(prefix))
    };
    let found = records.iter().filter(|record| name(record)).count();
    ensure!(
        found == PLUGINS,
        "{prefix}: {found} releases, not {PLUGINS}"
    );
    Ok(())
}

/// Every plugin and every object of one, with its version.
async fn versions(client: &Client) -> anyhow::Result<BTreeMap<String, Option<String>>> {
    let plugins: Api<outrigger_api::plugin::Plugin> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let events: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(client.clone());
    let params = ListParams::default();
    let mut versions = BTreeMap::new();
    let mut add = |kind: &str, name: String, version| {
        versions.insert(format!("{kind} {name}"), version);
    };
    for one in plugins.list_metadata(&params).await? {
        add("plugin", one.name_any(), one.resource_version());
    }
    for one in secrets.list_metadata(&params).await? {
        add("secret", one.name_any(), one.resource_version());
    }
    for one in maps.list_metadata(&params).await? {
        add("config map", one.name_any(), one.resource_version());
    }
    for one in events.list_metadata(&params).await? {
        add("event", one.name_any(), one.resource_version());
    }
    Ok(versions)
}

/// The processor time that a process has used when it has been quiet for two seconds.
async fn when_quiet(id: u32) -> anyhow::Result<Duration> {
    const STEP: Duration = Duration::from_millis(500);
    const ENOUGH: usize = 4;
    let mut used = usage::cpu(id)?;
    let mut quiet = 0;
    while quiet < ENOUGH {
        // There is no event for "nothing happens".
        tokio::time::sleep(STEP).await;
        let now = usage::cpu(id)?;
        let rested = now.saturating_sub(used) < Duration::from_millis(20);
        quiet = if rested { quiet + 1 } else { 0 };
        used = now;
    }
    Ok(used)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "memory in bytes is far below 2^52"
)]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}
