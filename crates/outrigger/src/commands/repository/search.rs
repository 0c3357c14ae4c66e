//! `outrigger repository search`.

use std::process::ExitCode;

use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::repository::{Repository, SecretReference};
use outrigger_repository::{Access, Entry, Fetcher, Index, Options, redacted, server_of};
use serde::Serialize;

use super::explain;
use crate::arguments::{Output, OutputFlag};
use crate::commands::plugin::connect::ClusterFlags;
use crate::commands::plugin::unreachable;
use crate::commands::registry_flags::{RegistryFlags, fetch_error};
use crate::printer::{Printer, Row};
use crate::report::{HintExt as _, hinted, note, note_failure};

const EXAMPLES: &str = "\
Examples:
  outrigger repository search prometheus
  outrigger repository search --url https://charts.example.com --versions web
  outrigger repository search --url https://charts.local --username ann --password-stdin < password";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Text in the name or the description of a chart [default: all charts]
    text: Option<String>,
    /// Search the repository at this URL instead of those of the cluster
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    registries: RegistryFlags,
    /// List all versions, also prereleases, not only the newest release
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
    let server = args.url.as_deref().and_then(server_of);
    let options = Options::for_user();
    let options = args.registries.chart_options(server.as_deref(), options)?;
    let fetcher = Fetcher::new(options);
    let mut found = Vec::new();
    let mut failed = 0;
    if let Some(url) = &args.url {
        if url.starts_with("oci://") {
            let problem = Err(anyhow::anyhow!("{} has no index to search", redacted(url)));
            return problem.hint(
                "`outrigger chart pull oci://HOST/PATH/CHART` pulls a chart by its name; a registry of `outrigger registry serve` has an index at http://HOST:PORT",
            );
        }
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
                    note_failure(&name, &error);
                }
            }
        }
    }
    if found.is_empty() && args.output.output == Output::Table {
        let text = args.text.as_ref();
        note(&text.map_or_else(
            || "no charts found".to_owned(),
            |text| format!("no chart has {text:?} in its name or description"),
        ));
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
            let secret = api.get(&reference.name).await;
            let secret = secret.map_err(|error| secret_error(&error, reference))?;
            let data = secret.data.unwrap_or_default();
            Access::from_data(|key| data.get(key).map(|bytes| bytes.0.as_slice()))
        }
    };
    let found = fetcher.index(&repository.spec.url, &access).await;
    let found = found.map_err(|error| {
        let hint = error.hint();
        hinted(error, hint)
    });
    Ok(found?.0)
}

fn secret_error(error: &kube::Error, of: &SecretReference) -> anyhow::Error {
    let SecretReference { name, namespace } = of;
    match error {
        kube::Error::Api(status) if status.code == 404 => {
            anyhow::anyhow!("its Secret {namespace}/{name} does not exist")
        }
        kube::Error::Api(status) if status.code == 403 => {
            let error = anyhow::anyhow!(
                "access to its Secret {namespace}/{name} is denied: {}",
                status.message
            );
            hinted(
                error,
                Some("--url searches a repository without the cluster".to_owned()),
            )
        }
        kube::Error::Api(status) => anyhow::anyhow!(
            "failed to get its Secret {namespace}/{name}: {}",
            status.message
        ),
        error => unreachable::explain(error),
    }
}

/// The charts whose name or description contains the text, by name: the newest release of each, or a prerelease if it has no
/// other; with `--versions` all, newest first.
fn search(index: &Index, repository: &str, args: &Args) -> Vec<ChartVersion> {
    let text = args.text.as_deref().unwrap_or_default().to_lowercase();
    let mut found = Vec::new();
    for (chart, entries) in &index.charts {
        let newest = || {
            index
                .get(chart, None, repository)
                .ok()
                .or_else(|| entries.first())
        };
        let entries: Vec<&Entry> = if args.versions {
            entries.iter().collect()
        } else {
            newest().into_iter().collect()
        };
        for entry in entries {
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    const INDEX: &str = "
apiVersion: v1
entries:
  web:
    - {name: web, version: 1.9.0, description: Serves pages}
    - {name: web, version: 2.0.0-rc.1, description: Serves pages}
    - {name: web, version: 1.10.0, appVersion: '3', description: Serves pages}
  Gateway:
    - {name: Gateway, version: 0.1.0-alpha, description: A proxy in front of WEB servers}
  db:
    - {name: db, version: 1.0.0, description: Stores rows, deprecated: true}
";

    #[derive(Debug, clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: Args,
    }

    fn found(arguments: &[&str]) -> Vec<String> {
        let arguments = [&["search"], arguments].concat();
        let args = CommandLine::parse_from(arguments).args;
        let index = Index::parse(INDEX.as_bytes(), "https://charts.example.com").unwrap();
        let name = |found: ChartVersion| format!("{} {}", found.chart, found.version);
        search(&index, "stable", &args)
            .into_iter()
            .map(name)
            .collect()
    }

    #[test]
    fn text_is_found_in_names_and_descriptions_whatever_its_case() {
        assert_eq!(found(&["web"]), ["Gateway 0.1.0-alpha", "web 1.10.0"]);
        assert_eq!(found(&["GATE"]), ["Gateway 0.1.0-alpha"]);
        assert_eq!(found(&["rows"]), ["db 1.0.0"]);
        assert_eq!(found(&["missing"]), Vec::<String>::new());
        let all = ["Gateway 0.1.0-alpha", "db 1.0.0", "web 1.10.0"];
        assert_eq!(found(&[]), all);
    }

    #[test]
    fn prereleases_are_shown_with_all_versions() {
        let expected = ["web 2.0.0-rc.1", "web 1.10.0", "web 1.9.0"];
        assert_eq!(found(&["pages", "--versions"]), expected);
    }
}
