//! `outrigger repository`: manages the chart repositories of a cluster, which are Repository objects.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use kube::api::{DeleteParams, ListParams};
use kube::runtime::wait::{Error as WatchError, await_condition};
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use outrigger_api::condition::Condition;
use outrigger_api::repository::Repository;
use serde::Serialize;

use super::plugin::connect::{ClusterFlags, invalid};
use super::plugin::unreachable;
use super::{runtime, similar_name};
use crate::arguments::{Output, OutputFlag};
use crate::printer::{Printer, Row};
use crate::report::{hinted, note};

mod add;
mod search;
mod update;

const EXAMPLES: &str = "\
Examples:
  outrigger repository add stable https://charts.example.com
  outrigger repository add site oci://registry.local:5000/charts --secret default/registry
  outrigger repository list
  outrigger repository search prometheus
  outrigger repository search --url https://charts.example.com --versions web
  outrigger repository remove stable";

/// Manage the chart repositories of a cluster
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Add a repository
    Add(Box<add::Args>),
    /// List repositories
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Search the charts of repositories
    Search(Box<search::Args>),
    /// Read the index of repositories again
    Update(update::Args),
    /// Remove repositories
    #[command(visible_alias = "rm")]
    Remove(NamesArgs),
}

const LIST_EXAMPLES: &str = "\
Examples:
  outrigger repository list
  outrigger repository list --context site-7 -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

const REMOVE_EXAMPLES: &str = "\
Examples:
  outrigger repository remove stable
  outrigger repository remove stable incubator";

#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct NamesArgs {
    /// Names of the repositories
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
    message: String,
}

impl Row for Listed {
    const HEADERS: &'static [&'static str] =
        &["NAME", "URL", "PRIORITY", "SYSTEM", "READY", "MESSAGE"];
    const IS_CUT: bool = true;

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.url.clone(),
            self.priority.to_string(),
            self.system.to_string(),
            self.ready.clone(),
            self.message.clone(),
        ]
    }
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    runtime::run(async {
        match verb {
            Verb::Add(args) => add::run(args, printer).await,
            Verb::List(args) => list(args, printer).await,
            Verb::Search(args) => search::run(args, printer).await,
            Verb::Update(args) => update::run(args, printer).await,
            Verb::Remove(args) => remove(args, printer).await,
        }
    })
}

/// Explains an error of a request for a repository.
fn explain(error: &kube::Error, name: &str) -> anyhow::Error {
    let kube::Error::Api(status) = error else {
        return unreachable::explain(error);
    };
    match status.code {
        404 if status.message.contains(&format!("\"{name}\"")) => {
            anyhow!("repository {name} does not exist")
        }
        404 => hinted(
            anyhow!("the Repository CRD (repositories.outrigger.dev) is not installed"),
            Some("outrigger serve --install-crds installs it".to_owned()),
        ),
        409 => hinted(
            anyhow!("repository {name} already exists"),
            Some(format!("outrigger repository remove {name} removes it")),
        ),
        403 => anyhow!("access denied: {}", status.message),
        422 => anyhow!("{}", invalid("repository", name, &status.message)),
        _ => anyhow!(status.message.clone()),
    }
}

/// Explains an error of a request for a repository that may not exist.
async fn suggest(api: &Api<Repository>, name: &str, error: kube::Error) -> anyhow::Error {
    let explain = |error: &kube::Error, _: Option<&str>| explain(error, name);
    similar_name::suggest(api, name, error, explain).await
}

async fn api(cluster: &ClusterFlags) -> anyhow::Result<Api<Repository>> {
    Ok(Api::all(cluster.connect().await?.client))
}

/// Waits until a repository satisfies a condition. Returns `None` if it does not in time.
async fn until(
    api: &Api<Repository>,
    name: &str,
    is_met: impl Fn(&Repository) -> bool,
    timeout: Duration,
) -> anyhow::Result<Option<Repository>> {
    let condition = |repository: Option<&Repository>| repository.is_none_or(&is_met);
    match tokio::time::timeout(timeout, await_condition(api.clone(), name, condition)).await {
        Ok(Ok(Some(repository))) => Ok(Some(repository)),
        Ok(Ok(None)) => bail!("repository {name} does not exist"),
        Ok(Err(WatchError::ProbeFailed(watcher::Error::InitialListFailed(error)))) => {
            Err(explain(&error, name))
        }
        Ok(Err(error)) => Err(error).context(format!("failed to watch repository {name}")),
        Err(_) => Ok(None),
    }
}

fn ready_condition(repository: &Repository) -> Option<&Condition> {
    let status = repository.status.as_ref()?;
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.kind == "Ready")
}

async fn list(args: &ListArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let found = api(&args.cluster).await?;
    let found = found.list(&ListParams::default()).await;
    let found = found.map_err(|error| explain(&error, ""))?;
    let rows: Vec<Listed> = found.items.iter().map(row).collect();
    if rows.is_empty() && args.output.output == Output::Table {
        note("no repositories in the cluster");
        return Ok(ExitCode::SUCCESS);
    }
    printer.list(args.output.output, &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn row(repository: &Repository) -> Listed {
    let ready = ready_condition(repository);
    let message = ready.map(|ready| ready.message.clone());
    let ready = ready.map(|ready| format!("{:?}", ready.status));
    Listed {
        name: repository.name_any(),
        url: outrigger_repository::redacted(&repository.spec.url),
        priority: repository.spec.priority,
        system: repository.spec.system,
        ready: ready.unwrap_or_else(|| "Unknown".to_owned()),
        message: message.unwrap_or_default(),
    }
}

async fn remove(args: &NamesArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let api = api(&args.cluster).await?;
    for name in &args.names {
        if let Err(error) = api.delete(name, &DeleteParams::default()).await {
            return Err(suggest(&api, name, error).await);
        }
        printer.line(&format!("repository {name} removed"))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_api_server_are_explained_and_not_printed_as_structures() {
        let text = |code: u16, message: &str| {
            let status = kube::core::Status::failure(message, "").with_code(code);
            explain(&kube::Error::Api(Box::new(status)), "bad").to_string()
        };
        let message = "Repository.outrigger.dev \"bad\" is invalid: spec.url: Invalid value";
        assert_eq!(
            text(422, message),
            "repository bad is invalid: spec.url: Invalid value"
        );
        let message = "repositories.outrigger.dev \"bad\" not found";
        assert_eq!(text(404, message), "repository bad does not exist");
        assert_eq!(text(409, "exists"), "repository bad already exists");
    }
}
