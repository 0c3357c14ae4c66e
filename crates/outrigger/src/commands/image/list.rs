//! `outrigger image list`.

use std::process::ExitCode;

use serde::Serialize;

use super::images_of::ImagesOf;
use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Image {
    #[serde(rename = "image")]
    reference: String,
    registry: String,
    repository: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Row for Image {
    const HEADERS: &'static [&'static str] = &["IMAGE"];

    fn cells(&self) -> Vec<String> {
        vec![self.reference.clone()]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let images = args.images.references()?;
    let rows: Vec<Image> = images
        .iter()
        .map(|image| Image {
            reference: image.to_string(),
            registry: image.registry().to_owned(),
            repository: image.repository().path().to_owned(),
            tag: image.tag().map(str::to_owned),
            digest: image.digest().map(ToString::to_string),
        })
        .collect();
    printer.list(args.output.output, &rows)?;
    Ok(ExitCode::SUCCESS)
}
