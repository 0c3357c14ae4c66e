//! `outrigger stack init`: runs the stage initialise.

use std::process::ExitCode;

use outrigger_stack::stage_files::write_initialised;

use super::findings::require;
use super::sources::StageArgs;
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack init
  outrigger stack init -f clusters/demo.yaml --to build/demo";

pub(super) fn run(args: &StageArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
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
