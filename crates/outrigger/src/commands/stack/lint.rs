//! `outrigger stack lint`: initialises and renders, and writes nothing.

use std::process::ExitCode;

use super::findings::require;
use super::sources::Sources;
use crate::plural::counted;
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack lint
  outrigger stack lint -f clusters/demo.yaml --plugins ./plugins";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let pipeline = args.sources.pipeline()?;
    let initialised = require(pipeline.initialise())?;
    let rendered = require(pipeline.render(&initialised))?;
    printer.line(&format!(
        "{}, {}, {}: no fatal findings",
        counted(pipeline.plugins().count(), "plugin"),
        counted(rendered.templates.len(), "template"),
        counted(rendered.files.len(), "file")
    ))?;
    Ok(ExitCode::SUCCESS)
}
