//! `outrigger image verify`: the closure check.

use std::path::PathBuf;
use std::process::ExitCode;

use futures::stream::{self, StreamExt as _};
use outrigger_chart::images::Confidence;
use outrigger_oci::{Client, Copy, Error, Reference, Source, Tree};
use serde::Serialize;

use super::images_of::{ImagesOf, read_lock};
use super::sync::relocated;
use crate::arguments::{Output, OutputFlag};
use crate::commands::registry_flags::RegistryFlags;
use crate::commands::runtime;
use crate::plural::counted;
use crate::printer::{Printer, Row};
use crate::report::note;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Lock file that must have all images
    #[arg(long, value_name = "FILE", required_unless_present = "registry")]
    lock: Option<PathBuf>,
    /// Registry that must have all images and their blobs, at their relocated names
    #[arg(long = "in", value_name = "HOST[:PORT][/PATH]")]
    registry: Option<String>,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Finding {
    image: String,
    problem: String,
}

impl Row for Finding {
    const HEADERS: &'static [&'static str] = &["IMAGE", "PROBLEM"];

    fn cells(&self) -> Vec<String> {
        vec![self.image.clone(), self.problem.clone()]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client()?;
    let found = args.images.find(&args.registries, Confidence::Likely)?;
    found.check()?;
    let images = found.references();
    let mut findings = Vec::new();
    if let Some(path) = &args.lock {
        let missing = read_lock(path)?;
        findings.extend(missing.missing(&images).into_iter().map(|image| Finding {
            image: image.to_string(),
            problem: format!("not in {}", path.display()),
        }));
    }
    if let Some(registry) = &args.registry {
        let copies = relocated(&images, registry)?;
        findings.extend(runtime::run(async { Ok(check(&client, &copies).await) })?);
    }
    if findings.is_empty() && args.output.output == Output::Table {
        note(&format!(
            "{}, none is missing",
            counted(images.len(), "image")
        ));
        return Ok(ExitCode::SUCCESS);
    }
    printer.list(args.output.output, &findings)?;
    if args.registry.is_some() && !findings.is_empty() {
        note("`outrigger image sync --check-blobs` copies what a registry does not have");
    }
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn check(client: &Client, copies: &[Copy]) -> Vec<Finding> {
    let checks = copies.iter().map(|copy| async {
        let result = check_image(client, &copy.target).await;
        result.err().map(|error| Finding {
            image: copy.source.to_string(),
            problem: error.to_string(),
        })
    });
    let found: Vec<Option<Finding>> = stream::iter(checks.collect::<Vec<_>>())
        .buffered(4)
        .collect()
        .await;
    found.into_iter().flatten().collect()
}

/// Whether all manifests and blobs of an image are there.
async fn check_image(client: &Client, image: &Reference) -> Result<(), Error> {
    let source = Source::Registry(client.clone());
    let manifest = client.manifest(image).await?;
    let tree = Tree::read(&source, image.repository(), manifest).await?;
    for blob in tree.blobs() {
        if client.blob_size(image.repository(), &blob.digest).await? != Some(blob.size) {
            return Err(Error::NotFound {
                what: format!("blob {} of {image}", blob.digest),
            });
        }
    }
    Ok(())
}
