//! `outrigger chart push`: pushes a chart archive to a registry, as Helm does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use outrigger_chart::{Profile, from_archive};
use outrigger_oci::{
    Blob, Client, Reference, Repository, chart_layer, chart_manifest, tag_of_version,
};
use serde_json::Value;

use super::source::{helm_error, warn};
use crate::commands::registry_flags::{RegistryFlags, hinted};
use crate::commands::runtime;
use crate::input_file;
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError};

const EXAMPLES: &str = "\
Examples:
  outrigger chart push web-1.2.3.tgz oci://registry.local:5000/charts";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart archive
    archive: PathBuf,
    /// oci:// URL of the prefix to push to; the name of the chart is appended
    #[arg(value_name = "URL")]
    to: String,
    #[command(flatten)]
    registries: RegistryFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (path, to) = (args.archive.display(), &args.to);
    if args.archive.is_dir() {
        return Err(anyhow!("{path} is a folder, not a chart archive"))
            .hint(format!("outrigger chart package {path} makes one"));
    }
    let prefix = to
        .strip_prefix("oci://")
        .ok_or_else(|| UsageError(format!("{to} is not an oci:// URL")));
    let prefix = prefix.hint(format!("use oci://{}", without_scheme(to)))?;
    let archive = input_file::read(&args.archive)?;
    let chart = from_archive(&archive, Profile::Helm4, &mut warn).map_err(helm_error)?;
    let repository: Repository =
        format!("{}/{}", prefix.trim_end_matches('/'), chart.name()).parse()?;
    let client = args.registries.client(Some(repository.registry()))?;
    let pushed = runtime::run(push_archive(&client, &repository, &archive, None))?;
    printer.line(&format!("{}@{}", pushed.target, pushed.digest))?;
    Ok(ExitCode::SUCCESS)
}

fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// A chart that is in a registry.
#[derive(Debug)]
pub(crate) struct Pushed {
    pub(crate) target: Reference,
    pub(crate) digest: String,
    /// Whether it was there before
    pub(crate) unchanged: bool,
}

/// Pushes a chart archive with the tag of its version. The chart may be in a folder of the archive.
pub(crate) async fn push_archive(
    client: &Client,
    repository: &Repository,
    archive: &[u8],
    folder: Option<&str>,
) -> anyhow::Result<Pushed> {
    let config = metadata(archive, folder)?;
    let target = tagged(repository, &config)?;
    let config = config.to_string().into_bytes();
    let invalid = |source| outrigger_oci::Error::InvalidManifest {
        what: target.to_string(),
        source,
    };
    let manifest = chart_manifest(&config, archive, BTreeMap::new()).map_err(invalid)?;
    let digest = manifest.digest.to_string();
    let existing = client.manifest_digest(&target).await.map_err(hinted)?;
    let unchanged = existing.as_ref() == Some(&manifest.digest);
    if !unchanged {
        let blobs = [
            (manifest.parsed.config.as_ref(), config),
            (chart_layer(&manifest.parsed), archive.to_vec()),
        ];
        for (descriptor, bytes) in blobs {
            if let Some(descriptor) = descriptor {
                let blob = Blob::memory(bytes, descriptor);
                let pushed = client.push_blob(repository, blob, None).await;
                pushed.map_err(hinted)?;
            }
        }
        let pushed = client.push_manifest(&target, &manifest).await;
        pushed.map_err(hinted)?;
    }
    Ok(Pushed {
        target,
        digest,
        unchanged,
    })
}

/// Where a chart archive is pushed to.
pub(crate) fn target_of(
    repository: &Repository,
    archive: &[u8],
    folder: Option<&str>,
) -> anyhow::Result<Reference> {
    tagged(repository, &metadata(archive, folder)?)
}

/// The tag of the version of a chart.
fn tagged(repository: &Repository, metadata: &Value) -> anyhow::Result<Reference> {
    let version = metadata["version"].as_str();
    let version = version.context("the chart has no version")?;
    Ok(repository.with_tag(&tag_of_version(version))?)
}

/// The metadata of a chart: its Chart.yaml as JSON.
fn metadata(archive: &[u8], folder: Option<&str>) -> anyhow::Result<Value> {
    let files =
        outrigger_chart::load::archive::read(archive, Profile::Helm4).map_err(helm_error)?;
    let folder = folder.unwrap_or_default().trim_start_matches("./");
    let folder = folder.trim_matches('/');
    // Names are relative to the top folder of the archive, with which the folder may begin.
    let below_top = folder.split_once('/').map_or("", |(_, rest)| rest);
    let file = [folder, below_top].iter().find_map(|folder| {
        let name = format!("{folder}/Chart.yaml");
        let name = name.trim_start_matches('/');
        files.iter().find(|file| file.name == name)
    });
    let file = file.context("the archive has no Chart.yaml")?;
    Ok(outrigger_goyaml::parse_json(&file.data)?)
}
