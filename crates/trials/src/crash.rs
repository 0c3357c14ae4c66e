//! `trials crash`: the controller is killed again and again while plugins come, change, are switched off and go.
//!
//! In the end every plugin is Ready, switched off or gone, and the cluster has exactly the objects that it should.
#![expect(clippy::print_stdout, reason = "the outcome is this program's result")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::chart;
use crate::fleet::Fleet;
use crate::process::{self, Embedded};

const PLUGINS: usize = 30;
/// So many kills, then all is looked at.
const BETWEEN_CHECKS: usize = 10;
const WITHIN: Duration = Duration::from_mins(2);

/// What the small chart has one of, beside config maps.
const SINGLE: &[(&str, &str, &str)] = &[
    ("", "v1", "ServiceAccount"),
    ("", "v1", "Secret"),
    ("", "v1", "Service"),
    ("rbac.authorization.k8s.io", "v1", "Role"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
    ("", "v1", "LimitRange"),
    ("policy", "v1", "PodDisruptionBudget"),
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// How often to kill the controller
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// For the random times and changes; told at the end of a run
    #[arg(long)]
    seed: Option<u64>,
}

/// What a plugin should be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Installed { maps: usize, word: u32 },
    Off,
}

/// What was asked for so far, by name.
type Plan = BTreeMap<String, Wanted>;

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    let begin = Instant::now();
    let scratch = tempfile::tempdir()?;
    let repository = scratch.path().join("charts");
    chart::write(&repository, "1.0.0")?;
    let server = Embedded::start(&args.binary, scratch.path()).await?;
    let log = scratch.path().join("serve.log");
    let client = process::client(&server.kubeconfig).await?;
    let serve = || process::serve(&args.binary, &server.kubeconfig, &log);
    let mut first = serve()?;
    let fleet = Fleet::new(client.clone(), &repository).await?;
    first.kill().await?;

    let mut plan = Plan::new();
    let (mut changes, mut checks) = (0, 0);
    for round in 1..=args.rounds {
        changes += change(&fleet, &mut plan).await?;
        let mut controller = serve()?;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(10..900))).await;
        controller.kill().await?;
        if round % BETWEEN_CHECKS == 0 || round == args.rounds {
            let mut controller = serve()?;
            let checked = async {
                fleet.settled(plan.len(), WITHIN).await?;
                check(&client, &plan).await
            };
            let checked = checked.await;
            let said = || fs_err::read_to_string(&log).unwrap_or_default();
            checked.with_context(|| format!("round {round}, seed {seed}\n{}", tail(&said())))?;
            controller.kill().await?;
            checks += 1;
        }
    }
    println!(
        "{} kills, {changes} changes to {PLUGINS} plugins; looked at {checks} times: all Ready, off or gone, and exactly \
         the objects that should be there; seed {seed}, {:.0} s",
        args.rounds,
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Asks for something else of about every third plugin; gives of how many.
async fn change(fleet: &Fleet, plan: &mut Plan) -> anyhow::Result<usize> {
    let mut changes = 0;
    for number in 0..PLUGINS {
        let name = format!("plugin-{number}");
        let is_there = fleet.plugins.get_opt(&name).await?;
        let is_going = is_there.is_some_and(|plugin| plugin.metadata.deletion_timestamp.is_some());
        // The first round asks for all of them.
        if is_going || (!plan.is_empty() && number > 0 && fastrand::u8(..3) > 0) {
            continue;
        }
        changes += 1;
        let wanted = match fastrand::u8(..10) {
            0 if plan.contains_key(&name) => {
                fleet.delete(vec![name.clone()]).await?;
                plan.remove(&name);
                continue;
            }
            1 => Wanted::Off,
            _ => Wanted::Installed {
                maps: fastrand::usize(1..6),
                word: fastrand::u32(..),
            },
        };
        let spec = match wanted {
            Wanted::Off => json!({"enabled": false}),
            Wanted::Installed { maps, word } => {
                json!({"enabled": true, "values": {"maps": maps, "word": word.to_string()}})
            }
        };
        let plugin = fleet.plugin(&name, spec)?;
        let params = PatchParams::apply("trial").force();
        fleet
            .plugins
            .patch(&name, &params, &Patch::Apply(&plugin))
            .await?;
        plan.insert(name, wanted);
    }
    Ok(changes)
}

/// The cluster has what the plan asks for and nothing else.
async fn check(client: &Client, plan: &Plan) -> anyhow::Result<()> {
    let installed: BTreeMap<&str, (usize, u32)> = plan
        .iter()
        .filter_map(|(name, wanted)| match wanted {
            Wanted::Installed { maps, word } => Some((name.as_str(), (*maps, *word))),
            Wanted::Off => None,
        })
        .collect();
    let ours = ListParams::default().labels("app.kubernetes.io/managed-by=Helm");

    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let found: BTreeMap<String, String> = maps
        .list(&ours)
        .await?
        .into_iter()
        .map(|map| {
            (
                map.name_any(),
                map.data
                    .unwrap_or_default()
                    .remove("word")
                    .unwrap_or_default(),
            )
        })
        .collect();
    let expected: BTreeMap<String, String> = installed
        .iter()
        .flat_map(|(name, (maps, word))| {
            (0..*maps).map(move |number| (format!("{name}-{number}"), word.to_string()))
        })
        .collect();
    ensure!(
        found == expected,
        "config maps are {found:?}, not {expected:?}"
    );

    let expected: BTreeSet<String> = installed.keys().map(|name| (*name).to_owned()).collect();
    for (group, version, kind) in SINGLE {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let objects: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let objects = objects.list_metadata(&ours).await?;
        let found: BTreeSet<String> = objects.iter().map(ResourceExt::name_any).collect();
        ensure!(found == expected, "{kind}: {found:?}, not {expected:?}");
    }
    check_records(client, &expected).await
}

/// Each installed plugin has one record that says so, none is half done, and nothing else has records.
async fn check_records(client: &Client, expected: &BTreeSet<String>) -> anyhow::Result<()> {
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let records = secrets
        .list_metadata(&ListParams::default().labels("owner=helm"))
        .await?;
    let mut deployed = BTreeSet::new();
    for record in &records {
        let labels = record.labels();
        let label = |name: &str| labels.get(name).map_or("", String::as_str);
        let name = label("name").to_owned();
        ensure!(
            expected.contains(&name),
            "{} is left behind",
            record.name_any()
        );
        let status = label("status");
        ensure!(
            matches!(status, "deployed" | "superseded" | "failed"),
            "{} is {status}",
            record.name_any()
        );
        if status == "deployed" {
            ensure!(
                deployed.insert(name),
                "two records of {} are deployed",
                label("name")
            );
        }
    }
    ensure!(
        deployed == *expected,
        "deployed are {deployed:?}, not {expected:?}"
    );
    Ok(())
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
