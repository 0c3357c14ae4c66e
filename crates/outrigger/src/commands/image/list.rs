//! `outrigger image list`.

use std::process::ExitCode;

use outrigger_chart::images::Confidence;
use serde::Serialize;

use super::images_of::{Found, ImagesOf};
use crate::arguments::OutputFlag;
use crate::commands::registry_flags::RegistryFlags;
use crate::printer::{Printer, Row};

const EXAMPLES: &str = "\
Examples:
  outrigger image list --chart ./chart -f site.yaml
  outrigger image list --plugins site.yaml --chart oci://registry.local:5000/charts/web:1.2.3
  outrigger image list --chart ./chart --confidence certain -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Image {
    #[serde(rename = "image")]
    reference: String,
    registry: String,
    repository: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    confidence: &'static str,
    used_by: String,
}

impl Row for Image {
    const HEADERS: &'static [&'static str] = &["IMAGE", "CONFIDENCE", "USED BY"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.reference.clone(),
            self.confidence.to_owned(),
            self.used_by.clone(),
        ]
    }
}

impl From<&Found> for Image {
    fn from(found: &Found) -> Self {
        let image = &found.reference;
        Self {
            reference: image.to_string(),
            registry: image.registry().to_owned(),
            repository: image.repository().path().to_owned(),
            tag: image.tag().map(str::to_owned),
            digest: image.digest().map(ToString::to_string),
            confidence: found.confidence.name(),
            used_by: found.used_by.clone(),
        }
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let found = args
        .images
        .find(&args.registries, None, Confidence::Possible)?;
    let rows: Vec<Image> = found.images().map(Image::from).collect();
    printer.list(args.output.output, &rows)?;
    found.check()?;
    Ok(ExitCode::SUCCESS)
}
