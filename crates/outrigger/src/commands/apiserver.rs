//! `outrigger apiserver`: a Kubernetes API server in one process, with its data in one file.

use std::path::Path;
use std::process::ExitCode;

use crate::printer::Printer;

mod backup;
mod export;
mod run;

const EXAMPLES: &str = "\
Examples:
  outrigger apiserver --data ./data --kubeconfig ./kubeconfig
  outrigger apiserver --in-memory --simulate-workloads --kubeconfig ./kubeconfig
  outrigger apiserver backup --data ./data ./backup.redb
  outrigger apiserver export --data ./data > objects.yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(flatten)]
    run: run::Args,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Back up all objects to a file
    Backup(backup::Args),
    /// Print all objects
    Export(export::Args),
}

/// Rejects a data folder that does not exist, which would be created otherwise.
fn check_exists(data: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        data.is_dir(),
        "data folder {} does not exist",
        data.display()
    );
    Ok(())
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    match &args.verb {
        None => run::run(&args.run, printer),
        Some(Verb::Backup(args)) => backup::run(args, printer),
        Some(Verb::Export(args)) => export::run(args, printer),
    }
}
