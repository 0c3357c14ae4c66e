//! `outrigger image verify`: the closure check.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgGroup;
use futures::stream::{self, StreamExt as _};
use outrigger_chart::images::Confidence;
use outrigger_oci::{Client, Copy, Digest, Error, Lock, Reference, Source, Tree, chart_layer};
use serde::Serialize;

use super::images_of::{ImagesOf, read_lock};
use super::plugin_set::PluginChart;
use super::summary::chain;
use super::sync::relocated;
use crate::arguments::{Output, OutputFlag};
use crate::commands::chart::push::target_of;
use crate::commands::registry_flags::RegistryFlags;
use crate::commands::registry_name::{host_of, parse_prefix};
use crate::commands::runtime;
use crate::plural::counted;
use crate::printer::{Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger image verify --chart ./chart --lock images.lock
  outrigger image verify --chart ./chart --in registry.local:5000
  outrigger image verify --plugins site.yaml --in registry.local:5000      With the charts of the plugins
  outrigger image verify --from-lock images.lock --in registry.local:5000 --check-blobs";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("against").args(["lock", "registry"]).required(true).multiple(true))]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Lock file that must have all images; with --in, tags of the registry must have its digests
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Registry that must have all images and their blobs, at their relocated names
    #[arg(long = "in", value_name = "HOST[:PORT][/PATH]", value_parser = parse_prefix)]
    registry: Option<String>,
    /// With --in, read all blobs, and compare them with their digests; without, their sizes are compared
    #[arg(long, requires = "registry")]
    check_blobs: bool,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Finding {
    image: String,
    problem: String,
    /// Advice, if the registry could not be asked
    #[serde(skip)]
    hint: Option<String>,
}

impl Finding {
    /// What could not be found out, or is missing.
    fn failed(image: String, error: &Error) -> Self {
        Self {
            image,
            problem: chain(error),
            hint: error.hint(),
        }
    }

    fn new(image: String, problem: String) -> Self {
        Self {
            image,
            problem,
            hint: None,
        }
    }
}

impl Row for Finding {
    const HEADERS: &'static [&'static str] = &["IMAGE", "PROBLEM"];

    fn cells(&self) -> Vec<String> {
        vec![self.image.clone(), self.problem.clone()]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let server = args.registry.as_deref().map(host_of);
    let found = args
        .images
        .find(&args.registries, server, Confidence::Likely)?;
    found.check()?;
    let images = found.references();
    let charts = found.charts;
    let mut findings = Vec::new();
    let mut locks = Vec::new();
    for path in args.lock.iter().chain(&args.images.from_lock) {
        locks.push((path.display().to_string(), read_lock(path)?));
    }
    if args.lock.is_some() {
        let (path, lock) = &locks[0];
        let missing = lock.missing(&images).into_iter();
        findings
            .extend(missing.map(|image| Finding::new(image.to_string(), format!("not in {path}"))));
    }
    if let Some(registry) = &args.registry {
        let copies = relocated(&images, registry)?;
        let client = args.registries.client(server)?;
        let check = Check {
            client,
            locks,
            digests: args.check_blobs,
        };
        findings.extend(runtime::run(async {
            let mut found = check.all(&copies).await;
            found.extend(check.charts(&charts, registry).await);
            Ok(found)
        })?);
    }
    if findings.is_empty() && args.output.output == Output::Table {
        let mut checked = counted(images.len(), "image");
        if args.registry.is_some() && !charts.is_empty() {
            checked = format!("{checked} and {}", counted(charts.len(), "chart"));
        }
        note(&format!("{checked}, none is missing{}", args.compared()));
        return Ok(ExitCode::SUCCESS);
    }
    printer.list(args.output.output, &findings)?;
    if args.registry.is_some() && !findings.is_empty() {
        print_hints(&findings);
    }
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Args {
    /// What was compared to find no problem.
    fn compared(&self) -> &'static str {
        match (&self.registry, self.check_blobs) {
            (None, _) => "",
            (Some(_), false) => {
                "; manifests were read, blobs compared by size (--check-blobs reads them, too)"
            }
            (Some(_), true) => "; manifests and blobs were read and compared with their digests",
        }
    }
}

/// Prints what to do: about the registry if it could not be asked, else about what it does not have.
fn print_hints(findings: &[Finding]) {
    let hints: BTreeSet<&str> = findings
        .iter()
        .filter_map(|found| found.hint.as_deref())
        .collect();
    for hint in &hints {
        note(&format!("hint: {hint}"));
    }
    if findings.iter().any(|found| found.hint.is_none()) {
        note(
            "hint: `outrigger image sync --check-blobs` sends what is missing or damaged; with --lock, at the locked digests",
        );
    }
}

/// Lock files, with their names.
type Locks = Vec<(String, Lock)>;

/// A check of what a registry has.
struct Check {
    client: Client,
    locks: Locks,
    /// Whether blobs are compared with their digests
    digests: bool,
}

impl Check {
    async fn all(&self, copies: &[Copy]) -> Vec<Finding> {
        let checks = copies.iter().map(|copy| async {
            let image = copy.source.to_string();
            match self.tag(copy).await {
                Ok(None) => {
                    let complete = self.image(&copy.target).await;
                    complete.err().map(|error| Finding::failed(image, &error))
                }
                Ok(Some(problem)) => Some(Finding::new(image, problem)),
                Err(error) => Some(Finding::failed(image, &error)),
            }
        });
        let found: Vec<Option<Finding>> = stream::iter(checks.collect::<Vec<_>>())
            .buffered(4)
            .collect()
            .await;
        found.into_iter().flatten().collect()
    }

    /// Checks the charts of plugins, where a mirror of all repositories finds them.
    async fn charts(&self, charts: &[PluginChart], registry: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        for chart in charts {
            let source = outrigger_repository::redacted(&chart.request.repo);
            let name = format!("{source} {}", chart.request.chart);
            match self.chart(chart, registry).await {
                Ok(()) => {}
                Err(error) => findings.push(match error.downcast_ref::<Error>() {
                    Some(error) => Finding::failed(name, error),
                    None => Finding::new(name, format!("{error:#}")),
                }),
            }
        }
        findings
    }

    /// Whether a registry has the archive of a chart, as it is at its source.
    async fn chart(&self, chart: &PluginChart, registry: &str) -> anyhow::Result<()> {
        let repository = chart.repository(registry)?;
        let path = chart.request.path.as_deref();
        let target = target_of(&repository, &chart.archive, path)?;
        let found = self.client.manifest(&target).await?;
        let digest = Digest::of(&chart.archive);
        let layer = chart_layer(&found.parsed);
        anyhow::ensure!(
            layer.is_some_and(|layer| layer.digest == digest),
            "{target} is not the archive of the source, {digest}"
        );
        Ok(self.image(&target).await?)
    }

    /// What is wrong with the tag of an image whose digest is locked.
    async fn tag(&self, copy: &Copy) -> Result<Option<String>, Error> {
        let Some(tag) = copy.target.tag() else {
            return Ok(None);
        };
        let tagged = copy.target.repository().with_tag(tag)?;
        for (path, lock) in &self.locks {
            let Some(locked) = lock.get(&copy.source) else {
                continue;
            };
            let found = self.client.manifest(&tagged).await?;
            if !found.is(locked) {
                let digest = found.digest;
                let problem = format!("{tagged} has digest {digest}, but {path} has {locked}");
                return Ok(Some(problem));
            }
        }
        Ok(None)
    }

    /// Whether all manifests and blobs of an image are there.
    async fn image(&self, image: &Reference) -> Result<(), Error> {
        let source = Source::Registry(self.client.clone());
        let manifest = self.client.manifest(image).await?;
        let repository = image.repository();
        let tree = Tree::read(&source, repository, manifest).await?;
        for blob in tree.blobs() {
            if self.digests {
                self.client.verify_blob(repository, blob).await?;
            } else if self
                .client
                .reuse_blob(repository, blob, None)
                .await?
                .is_none()
            {
                return Err(Error::NotFound {
                    what: format!("blob {} of {image}", blob.digest),
                });
            }
        }
        Ok(())
    }
}
