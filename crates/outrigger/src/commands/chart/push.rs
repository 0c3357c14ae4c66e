//! `outrigger chart push`: pushes a chart archive to a registry, as Helm does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_chart::{Profile, from_archive};
use outrigger_oci::{Blob, Client, Reference, chart_layer, chart_manifest, tag_of_version};

use super::source::{helm_error, warn};
use crate::commands::registry_flags::{RegistryFlags, hinted};
use crate::commands::runtime;
use crate::input_file;
use crate::printer::Printer;

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
    let archive = input_file::read(&args.archive)?;
    let chart = from_archive(&archive, Profile::Helm4, &mut warn).map_err(helm_error)?;
    let files =
        outrigger_chart::load::archive::read(&archive, Profile::Helm4).map_err(helm_error)?;
    let metadata = files
        .iter()
        .find(|file| file.name == "Chart.yaml")
        .context("the archive has no Chart.yaml")?;
    let config = outrigger_goyaml::parse_json(&metadata.data)?
        .to_string()
        .into_bytes();
    let prefix = args
        .to
        .strip_prefix("oci://")
        .context("the target is not an oci:// URL")?;
    let prefix = prefix.trim_end_matches('/');
    let tag = tag_of_version(&chart.metadata.version);
    let target: Reference = format!("{prefix}/{}:{tag}", chart.name()).parse()?;
    let client = args.registries.client()?;
    let digest = runtime::run(async {
        push(&client, &target, config, archive)
            .await
            .map_err(hinted)
    })?;
    printer.line(&format!("{target}@{digest}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn push(
    client: &Client,
    target: &Reference,
    config: Vec<u8>,
    archive: Vec<u8>,
) -> Result<String, outrigger_oci::Error> {
    let invalid = |source| outrigger_oci::Error::InvalidManifest {
        what: target.to_string(),
        source,
    };
    let manifest = chart_manifest(&config, &archive, BTreeMap::new()).map_err(invalid)?;
    let blobs = [
        (manifest.parsed.config.as_ref(), config),
        (chart_layer(&manifest.parsed), archive),
    ];
    for (descriptor, bytes) in blobs {
        if let Some(descriptor) = descriptor {
            client
                .push_blob(target.repository(), Blob::memory(bytes, descriptor), None)
                .await?;
        }
    }
    client.push_manifest(target, &manifest).await?;
    Ok(manifest.digest.to_string())
}
