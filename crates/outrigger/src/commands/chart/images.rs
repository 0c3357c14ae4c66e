//! `outrigger chart images`: lists the images of a rendered chart, and the fields that reference them.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_chart::images::{self, ImageUse};
use outrigger_chart::{RenderOptions, render};
use serde::Serialize;

use super::host::LocalHost;
use super::remote::RemoteFlags;
use super::render_flags::RenderFlags;
use super::source::{self, render_error};
use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};

const EXAMPLES: &str = "\
Examples:
  outrigger chart images ./chart -f site.yaml
  outrigger chart images ./chart -o json
  outrigger chart images oci://registry.local:5000/charts/web --version ^1.2";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart folder or archive, or oci:// or https:// URL of a chart
    chart: PathBuf,
    #[command(flatten)]
    remote: RemoteFlags,
    #[command(flatten)]
    render: RenderFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// One reference to an image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Image {
    #[serde(rename = "image")]
    reference: String,
    kind: String,
    name: String,
    field: String,
    /// Where the reference is: a container, a volume, an argument.
    found_in: &'static str,
    confidence: &'static str,
    template: String,
}

impl From<ImageUse> for Image {
    fn from(image: ImageUse) -> Self {
        Self {
            found_in: image.origin.name(),
            confidence: image.origin.confidence().name(),
            reference: image.image,
            kind: image.kind,
            name: image.name,
            field: image.field,
            template: image.source,
        }
    }
}

impl Row for Image {
    const HEADERS: &'static [&'static str] = &["IMAGE", "CONFIDENCE", "OBJECT", "FIELD"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.reference.clone(),
            self.confidence.to_owned(),
            format!("{}/{}", self.kind, self.name),
            self.field.clone(),
        ]
    }
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let profile = args.render.compat.profile();
    let values = args.render.values.merge(profile)?;
    let chart = args.remote.load(&args.chart, profile)?;
    let mut options = RenderOptions::new(profile, chart.name(), &args.render.namespace);
    options.limits.stack_bytes = super::TEMPLATE_STACK;
    let rendered = render(
        &chart,
        &values,
        &options,
        &LocalHost::new(false),
        &mut source::warn,
    )
    .map_err(|error| render_error(&error))?;
    let images: Vec<Image> = images::find(&rendered)
        .into_iter()
        .map(Image::from)
        .collect();
    printer.list(args.output.output, &images)?;
    Ok(ExitCode::SUCCESS)
}
