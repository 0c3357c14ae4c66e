//! `outrigger stack render`: runs the stages initialise and render.

use std::process::ExitCode;

use outrigger_stack::stage_files::{read_initialised, write_initialised, write_rendered};

use super::findings::require;
use super::sources::StageArgs;
use crate::plural::counted;
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack render
  outrigger stack render --to build/demo
  outrigger stack render --from-files                 Render what `stack init` wrote, perhaps edited since";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    stage: StageArgs,
    /// Start from the files of the stage initialise instead of running it
    #[arg(long)]
    from_files: bool,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let pipeline = args.stage.sources.pipeline()?;
    let to = &args.stage.to;
    let folder = to.join("initialise");
    let initialised = if args.from_files {
        read_initialised(&folder)?
    } else {
        require(pipeline.initialise())?
    };
    let rendered = require(pipeline.render(&initialised))?;
    fs_err::create_dir_all(to)?;
    if !args.from_files {
        write_initialised(&folder, &initialised)?;
    }
    let folder = to.join("render");
    write_rendered(&folder, &rendered)?;
    let templates = counted(rendered.templates.len(), "template");
    let files = counted(rendered.files.len(), "file");
    printer.line(&format!(
        "{templates} and {files} written to {}",
        folder.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
