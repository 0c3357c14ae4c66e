//! `outrigger repository search`.

use std::process::ExitCode;

use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::repository::Repository;
use outrigger_repository::{Access, Fetcher, Index, Options, redacted};
use serde::Serialize;

use super::explain;
use crate::arguments::{Output, OutputFlag};
use crate::commands::plugin::connect::ClusterFlags;
use crate::commands::registry_flags::fetch_error;
use crate::printer::{Printer, Row};
use crate::report::note;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Text in the name or the description of a chart [default: all charts]
    text: Option<String>,
    /// Search the repository at this URL instead of those of the cluster
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// List all versions, not only the newest
    #[arg(long)]
    versions: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// A version of a chart.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChartVersion {
    repository: String,
    chart: String,
    version: String,
    app_version: String,
    description: String,
    deprecated: bool,
}

impl Row for ChartVersion {
    const HEADERS: &'static [&'static str] = &[
        "REPOSITORY",
        "CHART",
        "VERSION",
        "APP VERSION",
        "DESCRIPTION",
    ];

    fn cells(&self) -> Vec<String> {
        let description: String = self.description.chars().take(60).collect();
        vec![
            self.repository.clone(),
            self.chart.clone(),
            self.version.clone(),
            self.app_version.clone(),
            description,
        ]
    }
}

pub(super) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let fetcher = Fetcher::new(Options::for_user());
    let mut found = Vec::new();
    let mut failed = 0;
    if let Some(url) = &args.url {
        let index = fetcher.index(url, &Access::default()).await;
        let (index, _) = index.map_err(fetch_error)?;
        found.extend(search(&index, &redacted(url), args));
    } else {
        let client = args.cluster.connect().await?.client;
        let api: Api<Repository> = Api::all(client.clone());
        let repositories = api.list(&ListParams::default()).await;
        for repository in repositories.map_err(|error| explain(&error, ""))? {
            let name = repository.name_any();
            if repository.spec.url.starts_with("oci://") {
                note(&format!("{name}: a registry has no index to search"));
                continue;
            }
            match index(&client, &fetcher, &repository).await {
                Ok(index) => found.extend(search(&index, &name, args)),
                Err(error) => {
                    failed += 1;
                    note(&format!("{name}: {error:#}"));
                }
            }
        }
    }
    if found.is_empty() && args.output.output == Output::Table {
        note("no charts found");
    } else {
        printer.list(args.output.output, &found)?;
    }
    match failed {
        0 => {}
        1 => anyhow::bail!("1 repository could not be searched"),
        _ => anyhow::bail!("{failed} repositories could not be searched"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn index(
    client: &Client,
    fetcher: &Fetcher,
    repository: &Repository,
) -> anyhow::Result<std::sync::Arc<Index>> {
    let access = match &repository.spec.secret_ref {
        None => Access::default(),
        Some(reference) => {
            let api: Api<Secret> = Api::namespaced(client.clone(), &reference.namespace);
            let data = api.get(&reference.name).await?.data.unwrap_or_default();
            Access::from_data(|key| data.get(key).map(|bytes| bytes.0.as_slice()))
        }
    };
    let found = fetcher.index(&repository.spec.url, &access).await;
    Ok(found.map_err(fetch_error)?.0)
}

/// The charts whose name or description contains the text, by name, newest version first.
fn search(index: &Index, repository: &str, args: &Args) -> Vec<ChartVersion> {
    let text = args.text.as_deref().unwrap_or_default().to_lowercase();
    let versions = if args.versions { usize::MAX } else { 1 };
    let mut found = Vec::new();
    for (chart, entries) in &index.charts {
        for entry in entries.iter().take(versions) {
            let is_match = chart.to_lowercase().contains(&text)
                || entry.description.to_lowercase().contains(&text);
            if is_match {
                found.push(ChartVersion {
                    repository: repository.to_owned(),
                    chart: chart.clone(),
                    version: entry.version.clone(),
                    app_version: entry.app_version.clone(),
                    description: entry.description.clone(),
                    deprecated: entry.deprecated,
                });
            }
        }
    }
    found
}
