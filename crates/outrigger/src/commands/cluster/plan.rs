//! `outrigger cluster plan`: prints what creating a cluster would do. Nothing is connected to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kube::ResourceExt as _;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_cluster::lifecycle::{self, Next};
use outrigger_cluster::{Change, Inputs, Provider, Providers, StepInput, changes};
use outrigger_flow::{Target, Task};
use outrigger_node::{Entry, Tree};
use serde::Serialize;

use super::file;
use crate::arguments::{Output, OutputFlag};
use crate::commands::size::Size;
use crate::printer::{Printer, Row};

const EXAMPLES: &str = "\
Examples:
  outrigger cluster plan -f cluster.yaml
  outrigger cluster plan -f cluster.yaml --files ./files -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Manifest of the cluster, also one of TKEStack; - is stdin
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    /// Folder of the sources of files [default: the folder of the manifest]
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Provider folder of clusters with the provider baremetal
    #[arg(long, value_name = "DIR")]
    provider: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlag,
}

/// One task.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct PlannedTask {
    step: String,
    target: String,
    action: String,
    /// What it changes on the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<String>,
}

/// A row of the table: a task, or one of its changes.
#[derive(Debug, Serialize)]
struct PlannedRow {
    cells: [String; 3],
}

impl Row for PlannedRow {
    const HEADERS: &'static [&'static str] = &["STEP", "ON", "ACTION"];

    fn cells(&self) -> Vec<String> {
        self.cells.to_vec()
    }
}

/// Each task is followed by its changes.
fn table(tasks: &[PlannedTask]) -> Vec<PlannedRow> {
    let rows = tasks.iter().flat_map(|task| {
        let row = PlannedRow {
            cells: [task.step.clone(), task.target.clone(), task.action.clone()],
        };
        let changes = task.changes.iter().map(|change| PlannedRow {
            cells: [String::new(), String::new(), format!("  {change}")],
        });
        std::iter::once(row).chain(changes)
    });
    rows.collect()
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let default = args.filename.parent().unwrap_or_else(|| Path::new("."));
    let root = args.files.as_deref().unwrap_or(default);
    let root = if root.as_os_str().is_empty() {
        Path::new(".")
    } else {
        root
    };
    let providers = crate::commands::provider::providers(args.provider.as_deref())?;
    let mut rows = Vec::new();
    let manifests = file::read(&args.filename)?;
    manifests.ensure_own_clusters(&[])?;
    crate::commands::up::check_stand_ins(&manifests)?;
    for cluster in &manifests.clusters {
        let workers: Vec<&Machine> = manifests.machines_of(cluster).collect();
        rows.extend(plan(cluster.clone(), &workers, root, &providers)?);
    }
    match args.output.output {
        Output::Table => printer.list(Output::Table, &table(&rows)),
        format => printer.value(format, &rows),
    }
}

/// The tasks of creating a cluster, and then of adding its workers.
fn plan(
    mut cluster: Cluster,
    workers: &[&Machine],
    root: &Path,
    providers: &Providers,
) -> anyhow::Result<Vec<PlannedTask>> {
    cluster
        .metadata
        .name
        .get_or_insert_with(|| "cls".to_owned());
    let tree = scan(&cluster, root)?;
    let provider = providers.find(&cluster).map_err(anyhow::Error::msg)?;
    let missing = provider.missing(&cluster);
    anyhow::ensure!(
        missing.is_empty(),
        "provider {} lacks {}",
        provider.name(),
        missing.join(", ")
    );
    let accesses = cluster.spec.machines.iter();
    let control_plane = accesses.map(|it| outrigger_cluster::control_plane_machine(&cluster, it));
    let mut control_plane: Vec<Machine> = control_plane.collect();
    let machines: Vec<&Machine> = control_plane.iter().collect();
    let mut tasks = next_tasks(&cluster, &machines, &tree, provider.as_ref());
    let version = lifecycle::desired_version(&cluster).to_owned();
    for machine in &mut control_plane {
        machine.status.get_or_insert_default().version = Some(version.clone());
    }
    cluster.status.get_or_insert_default().version = Some(version);
    let machines = control_plane.iter().chain(workers.iter().copied());
    let machines: Vec<&Machine> = machines.collect();
    tasks.extend(next_tasks(&cluster, &machines, &tree, provider.as_ref()));
    Ok(tasks)
}

/// The tasks of the flow that is due.
fn next_tasks(
    cluster: &Cluster,
    machines: &[&Machine],
    tree: &Tree,
    provider: &dyn Provider,
) -> Vec<PlannedTask> {
    let Next::Run(run) = lifecycle::next(cluster, machines, None) else {
        return Vec::new();
    };
    let participants = lifecycle::participants(run.flow, cluster, machines);
    let cluster = lifecycle::at_run(cluster, &run);
    let inputs = Inputs::new(&cluster, &participants, tree, provider, run);
    let tasks = inputs.tasks().into_iter();
    tasks
        .map(|(task, action)| {
            let input = StepInput {
                cluster: &cluster,
                machine: machine_of(&task, &participants),
                tree,
            };
            let is_done_here = inputs.texts.get(&task) == Some(&action);
            let changes = changes(provider, task.step, &input).into_iter();
            PlannedTask {
                step: task.step.to_owned(),
                target: task.target.to_string(),
                action,
                changes: changes
                    .filter(|_| is_done_here)
                    .map(|change| text(&change))
                    .collect(),
            }
        })
        .collect()
}

/// The machine of a task. Those of the cluster run on the first one.
fn machine_of<'a>(task: &Task, participants: &[&'a Machine]) -> Option<&'a Machine> {
    let mut machines = participants.iter().copied();
    match &task.target {
        Target::Cluster => machines.next(),
        Target::Machine(name) => machines.find(|machine| machine.name_any() == *name),
    }
}

fn text(change: &Change) -> String {
    let size = |bytes: &u64| Size::from(*bytes);
    match change {
        Change::Copy {
            destination,
            size: bytes,
            ..
        } => format!("copy {destination} ({})", size(bytes)),
        Change::Import {
            reference,
            size: bytes,
            ..
        } => format!("import {reference} ({})", size(bytes)),
        Change::Unpack { package, folder } => format!("unpack {package} in {folder}"),
        Change::Write { path } => format!("write {path}"),
        Change::Run { command } => format!("run {command}"),
    }
}

fn scan(cluster: &Cluster, root: &Path) -> anyhow::Result<Tree> {
    let files = cluster.spec.features.files.iter();
    let entries: Vec<Entry> = files
        .map(|file| Entry {
            source: PathBuf::from(&file.src),
            destination: file.dst.clone(),
        })
        .collect();
    let hooks: BTreeSet<String> = cluster.spec.features.hooks.values().cloned().collect();
    Tree::scan(root, &entries, &hooks).context("spec.features.files cannot be copied")
}
