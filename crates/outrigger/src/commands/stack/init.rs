//! `outrigger stack init`: runs the stage initialise.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_stack::stage_files::write_initialised;

use super::findings::require;
use super::sources::Sources;
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack init
  outrigger stack init -f clusters/demo.yaml --to build/demo";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
    /// Folder for the outputs of stages; `initialise` in it is replaced
    #[arg(long, value_name = "DIR", default_value = "stack")]
    to: PathBuf,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let initialised = require(args.sources.pipeline()?.initialise())?;
    fs_err::create_dir_all(&args.to)?;
    let folder = args.to.join("initialise");
    write_initialised(&folder, &initialised)?;
    let count = initialised.model.contributions().len();
    printer.line(&format!(
        "{count} contributions written to {}",
        folder.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
