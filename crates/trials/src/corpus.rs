//! `trials corpus`: real charts, installed and removed by Helm 4 and then through a Plugin, on one real Kubernetes API.
//!
//! Helm's objects are the measure. Where the two differ, Helm installs the chart once more: what is then another value
//! than before is made anew each time and cannot be compared.
#![expect(clippy::print_stdout, reason = "the outcome is this program's result")]

mod clean;
mod reason;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use kube::api::DeleteParams;
use kube::{Api, Client};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use outrigger_testing::peers;
use serde_json::json;

use self::clean::clean;
use self::reason::is_same;
use crate::fleet;
use crate::process::{self, command};
use crate::simulated::Simulation;
use crate::snapshot::{self, Snapshot};

/// The release, and the plugin.
const NAME: &str = "rel";
const NAMESPACE: &str = "default";
/// What objects wait for, in the beginning and in the end; the rest is simulated.
const CONTROLLERS: &str =
    "garbage-collector-controller,namespace-controller,serviceaccount-controller";
/// Nobody takes away the marks that keep volumes in use.
const WITHOUT: &str = "StorageObjectInUseProtection";
/// Objects may need so long to come to rest.
const REST_WITHIN: Duration = Duration::from_mins(1);
/// What Helm and the plugin give the chart.
const TIMEOUT: &str = "60s";
const TIMEOUT_AND_MORE: Duration = Duration::from_secs(90);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// A folder of chart archives
    charts: PathBuf,
    /// Only charts whose name has this in it
    #[arg(long)]
    only: Option<String>,
    /// Only each so-manieth, for some that run side by side: `1/2` and `2/2`
    #[arg(long, value_parser = share)]
    share: Option<(usize, usize)>,
}

/// Reads `1/2`.
fn share(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/');
    let numbers = parts.and_then(|(one, all)| Some((one.parse().ok()?, all.parse().ok()?)));
    let good = numbers.filter(|(one, all)| (1..=*all).contains(one));
    good.ok_or_else(|| "write it like 1/2".to_owned())
}

/// How an installation ended.
enum End {
    Installed { left: Snapshot, kept: Snapshot },
    Refused(String),
}

/// What came of a chart.
enum Outcome {
    Equal {
        objects: usize,
        kept: usize,
        is_ready: bool,
    },
    BothRefuse(String),
    Differ(Vec<String>),
}

/// All that a run needs.
struct Lab {
    real: RealKubernetes,
    client: Client,
    /// What was there before any chart.
    base: Snapshot,
    home: PathBuf,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let charts = charts(args)?;
    let scratch = tempfile::tempdir()?;
    let real = RealKubernetes::start(Options {
        controllers: Some(CONTROLLERS),
        without_admission: WITHOUT,
        ..Options::default()
    })
    .await?;
    let client = real.client();
    let _simulation = Simulation::start(client.clone());
    let log = scratch.path().join("serve.log");
    let _controller = process::serve(&args.binary, real.kubeconfig(), &log)?;
    fleet::until_known(&Api::default_namespaced(client.clone())).await?;
    let lab = Lab {
        base: base(&client).await?,
        home: scratch.path().to_owned(),
        real,
        client,
    };
    let (mut equal, mut refused, mut differ) = (0, 0, Vec::new());
    for chart in &charts {
        let name = name(chart);
        let outcome = match compare(&lab, chart).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let cleaned = clean(&lab).await;
                cleaned.with_context(|| format!("chart {name}: {error:#}"))?;
                Outcome::Differ(vec![format!("{error:#}")])
            }
        };
        match outcome {
            Outcome::Equal {
                objects,
                kept,
                is_ready,
            } => {
                equal += 1;
                let ready = if is_ready {
                    ""
                } else {
                    ", not all became ready"
                };
                println!("same     {name}: {objects} objects, {kept} kept{ready}");
            }
            Outcome::BothRefuse(why) => {
                refused += 1;
                println!("refused  {name}: {why}");
            }
            Outcome::Differ(how) => {
                println!("DIFFERS  {name}");
                for line in how.iter().take(10) {
                    println!("         {line}");
                }
                differ.push(name);
            }
        }
    }
    println!(
        "{} charts: {equal} leave the same objects as Helm 4 when installed and when removed, {refused} are refused by \
         both, {} differ",
        charts.len(),
        differ.len()
    );
    ensure!(differ.is_empty(), "different: {}", differ.join(", "));
    Ok(())
}

/// What a new cluster has: each namespace gets its account a moment later.
async fn base(client: &Client) -> anyhow::Result<Snapshot> {
    let deadline = Instant::now() + REST_WITHIN;
    loop {
        let base = snapshot::settled(client, REST_WITHIN).await?;
        let mut namespaces = base
            .0
            .keys()
            .filter_map(|key| key.strip_prefix("namespaces.//"));
        let has = |name: &str| {
            base.0
                .contains_key(&format!("serviceaccounts./{name}/default"))
        };
        if namespaces.all(has) {
            return Ok(base);
        }
        ensure!(Instant::now() < deadline, "a namespace has no account");
    }
}

fn charts(args: &Args) -> anyhow::Result<Vec<PathBuf>> {
    let only = args.only.as_deref().unwrap_or_default();
    let mut charts = Vec::new();
    for entry in fs_err::read_dir(&args.charts)? {
        let path = entry?.path();
        let is_archive = path.extension().is_some_and(|end| end == "tgz");
        if is_archive && name(&path).contains(only) {
            charts.push(fs_err::canonicalize(path)?);
        }
    }
    charts.sort();
    if let Some((one, all)) = args.share {
        charts = charts.into_iter().skip(one - 1).step_by(all).collect();
    }
    ensure!(!charts.is_empty(), "there is no such chart");
    Ok(charts)
}

fn name(chart: &Path) -> String {
    let stem = chart.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

async fn compare(lab: &Lab, chart: &Path) -> anyhow::Result<Outcome> {
    let theirs = by_helm(lab, chart).await.context("helm")?;
    let (ours, is_ready) = by_plugin(lab, chart).await.context("plugin")?;
    let (left, kept, our_left, our_kept) = match (theirs, ours) {
        (End::Refused(theirs), End::Refused(ours)) if is_same(&theirs, &ours) => {
            return Ok(Outcome::BothRefuse(theirs));
        }
        (End::Refused(theirs), End::Refused(ours)) => {
            let lines = [format!("Helm: {theirs}"), format!("we:   {ours}")];
            return Ok(Outcome::Differ(lines.into()));
        }
        (End::Refused(why), End::Installed { .. }) => {
            return Ok(Outcome::Differ(vec![format!("only Helm refuses: {why}")]));
        }
        (End::Installed { .. }, End::Refused(why)) => {
            return Ok(Outcome::Differ(vec![format!("only we refuse: {why}")]));
        }
        (
            End::Installed { left, kept },
            End::Installed {
                left: our_left,
                kept: our_kept,
            },
        ) => (left, kept, our_left, our_kept),
    };
    let mut differences = left.differences(&left, &our_left);
    differences.extend(kept.remains(&kept, &our_kept));
    if !differences.is_empty()
        && let End::Installed {
            left: again,
            kept: kept_again,
        } = by_helm(lab, chart).await?
    {
        differences = left.common(&again).differences(&left, &our_left);
        let kept_differ = kept.common(&kept_again).remains(&kept, &our_kept);
        differences.extend(
            kept_differ
                .iter()
                .map(|text| format!("after removal: {text}")),
        );
    }
    if !differences.is_empty() {
        return Ok(Outcome::Differ(differences));
    }
    Ok(Outcome::Equal {
        objects: left.0.len(),
        kept: our_kept.0.len(),
        is_ready,
    })
}

async fn by_helm(lab: &Lab, chart: &Path) -> anyhow::Result<End> {
    let file = chart.to_string_lossy();
    let installed = helm(lab, &["install", NAME, &file, "--timeout", TIMEOUT]).await?;
    if let Err(why) = installed {
        // What is left of it is not ours to judge.
        let _ = helm(
            lab,
            &["uninstall", NAME, "--no-hooks", "--ignore-not-found"],
        )
        .await?;
        clean(lab).await?;
        return Ok(End::Refused(why));
    }
    let left = rest(lab).await?.without_records();
    let removed = helm(lab, &["uninstall", NAME, "--timeout", TIMEOUT]).await?;
    removed.map_err(anyhow::Error::msg)?;
    let kept = rest(lab).await?;
    clean(lab).await?;
    Ok(End::Installed { left, kept })
}

/// Runs Helm; the inner error is what it says.
async fn helm(lab: &Lab, args: &[&str]) -> anyhow::Result<Result<(), String>> {
    let output = command(peers::HELM4.installed()?)
        .args(args)
        .args(["--namespace", NAMESPACE])
        .env("KUBECONFIG", lab.real.kubeconfig())
        .env("HOME", &lab.home)
        .output()
        .await?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("level="))
        .collect();
    Ok(Err(errors.join("\n")))
}

async fn by_plugin(lab: &Lab, chart: &Path) -> anyhow::Result<(End, bool)> {
    let plugins: Api<Plugin> = Api::namespaced(lab.client.clone(), NAMESPACE);
    let plugin = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": NAME},
        "spec": {"repo": format!("file://{}", chart.display()), "timeout": TIMEOUT, "retries": 0},
    });
    let plugin: Plugin = serde_json::from_value(plugin)?;
    plugins
        .create(&kube::api::PostParams::default(), &plugin)
        .await?;
    let end = await_end(&plugins).await?;
    let left = match &end {
        Ok(_) => Some(rest(lab).await?.without_records()),
        Err(_) => None,
    };
    plugins.delete(NAME, &DeleteParams::default()).await?;
    let gone =
        kube::runtime::wait::await_condition(plugins.clone(), NAME, |plugin: Option<&Plugin>| {
            plugin.is_none()
        });
    let gone = tokio::time::timeout(TIMEOUT_AND_MORE, gone).await;
    gone.context("the plugin does not go")??;
    let kept = rest(lab).await?;
    clean(lab).await?;
    Ok(match (end, left) {
        (Ok(is_ready), Some(left)) => (End::Installed { left, kept }, is_ready),
        (Err(why), _) => (End::Refused(why), false),
        (Ok(_), None) => bail!("what was installed was looked at"),
    })
}

/// Waits until the plugin is Ready, has failed, or is applied and does not become Ready in time. Says whether it is.
async fn await_end(plugins: &Api<Plugin>) -> anyhow::Result<Result<bool, String>> {
    let has_ended = |plugin: Option<&Plugin>| {
        let status = plugin.and_then(|plugin| plugin.status.as_ref());
        status.is_some_and(|status| {
            matches!(status.phase, Phase::Ready | Phase::Failed | Phase::Degraded)
        })
    };
    let ended = kube::runtime::wait::await_condition(plugins.clone(), NAME, has_ended);
    let _ = tokio::time::timeout(TIMEOUT_AND_MORE, ended).await;
    let plugin = plugins.get(NAME).await?;
    let status = plugin.status.unwrap_or_default();
    let condition = |name: &str| status.conditions.iter().find(|known| known.kind == name);
    if status.phase == Phase::Ready {
        return Ok(Ok(true));
    }
    if condition("Applied").is_some_and(|applied| applied.status == ConditionStatus::True) {
        return Ok(Ok(false));
    }
    let message = condition("Ready").map_or("nothing was said", |ready| &ready.message);
    Ok(Err(message.to_owned()))
}

/// What is there beside what always was.
async fn rest(lab: &Lab) -> anyhow::Result<Snapshot> {
    let all = snapshot::settled(&lab.client, REST_WITHIN).await?;
    Ok(all.without(&lab.base))
}
