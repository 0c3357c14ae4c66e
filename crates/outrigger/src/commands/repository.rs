//! `outrigger repository`: manages the chart repositories of a cluster, which are Repository objects.

use std::process::ExitCode;

use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use outrigger_api::repository::{Repository, RepositorySpec, SecretReference};
use serde::Serialize;

use super::plugin::connect::ClusterFlags;
use super::runtime;
use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};

mod search;

const EXAMPLES: &str = "\
Examples:
  outrigger repository add stable https://charts.example.com
  outrigger repository add site oci://registry.local:5000/charts --secret default/registry
  outrigger repository list
  outrigger repository search prometheus
  outrigger repository remove stable";

/// Manage the chart repositories of a cluster
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Add a repository
    Add(AddArgs),
    /// List repositories
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Search the charts of repositories
    Search(search::Args),
    /// Read the index of repositories again
    Update(NamesArgs),
    /// Remove repositories
    #[command(visible_alias = "rm")]
    Remove(NamesArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    name: String,
    /// https://, oci:// or file:// URL
    url: String,
    /// Priority among repositories with the same chart; the lowest value is used
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// Secret with credentials and certificates
    #[arg(long, value_name = "NAMESPACE/NAME")]
    secret: Option<String>,
    /// The charts are addons of the platform
    #[arg(long)]
    system: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NamesArgs {
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    cluster: ClusterFlags,
}

#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    url: String,
    priority: i32,
    system: bool,
    ready: String,
}

impl Row for Listed {
    const HEADERS: &'static [&'static str] = &["NAME", "URL", "PRIORITY", "SYSTEM", "READY"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.url.clone(),
            self.priority.to_string(),
            self.system.to_string(),
            self.ready.clone(),
        ]
    }
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    runtime::run(async {
        match verb {
            Verb::Add(args) => add(args, printer).await,
            Verb::List(args) => list(args, printer).await,
            Verb::Search(args) => search::run(args, printer).await,
            Verb::Update(args) => update(args, printer).await,
            Verb::Remove(args) => remove(args, printer).await,
        }
    })
}

async fn api(cluster: &ClusterFlags) -> anyhow::Result<Api<Repository>> {
    Ok(Api::all(cluster.connect().await?.client))
}

async fn add(args: &AddArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let secret_ref = match args.secret.as_deref().map(|secret| secret.split_once('/')) {
        None => None,
        Some(Some((namespace, name))) => Some(SecretReference {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        }),
        Some(None) => anyhow::bail!("--secret is NAMESPACE/NAME"),
    };
    let spec = RepositorySpec {
        url: args.url.clone(),
        priority: args.priority,
        secret_ref,
        system: args.system,
    };
    let repository = Repository::new(&args.name, spec);
    api(&args.cluster)
        .await?
        .create(&PostParams::default(), &repository)
        .await?;
    printer.line(&format!("repository {} added", args.name))?;
    Ok(ExitCode::SUCCESS)
}

async fn list(args: &ListArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let found = api(&args.cluster)
        .await?
        .list(&ListParams::default())
        .await?;
    let rows: Vec<Listed> = found.items.iter().map(row).collect();
    printer.list(args.output.output, &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn row(repository: &Repository) -> Listed {
    let conditions = repository
        .status
        .iter()
        .flat_map(|status| &status.conditions);
    let mut ready = conditions
        .filter(|condition| condition.kind == "Ready")
        .map(|condition| format!("{:?}", condition.status));
    Listed {
        name: repository.name_any(),
        url: outrigger_repository::redacted(&repository.spec.url),
        priority: repository.spec.priority,
        system: repository.spec.system,
        ready: ready.next_back().unwrap_or_else(|| "Unknown".to_owned()),
    }
}

/// The controller reads the index again when an annotation changes.
async fn update(args: &NamesArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let api = api(&args.cluster).await?;
    for name in &args.names {
        let now = jiff::Timestamp::now().to_string();
        let patch =
            serde_json::json!({"metadata": {"annotations": {"outrigger.dev/refresh": now}}});
        api.patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        printer.line(&format!("repository {name} updated"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(args: &NamesArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let api = api(&args.cluster).await?;
    for name in &args.names {
        api.delete(name, &DeleteParams::default()).await?;
        printer.line(&format!("repository {name} removed"))?;
    }
    Ok(ExitCode::SUCCESS)
}
