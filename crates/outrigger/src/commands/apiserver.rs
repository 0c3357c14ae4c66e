//! `outrigger apiserver`: a Kubernetes API server in one process, with its data in one file.

use std::process::ExitCode;

use crate::printer::Printer;

mod backup;
mod export;
mod manifest;
mod restore;
mod run;

const EXAMPLES: &str = "\
Examples:
  outrigger apiserver --data ./data --kubeconfig ./kubeconfig
  outrigger apiserver --in-memory --simulate-workloads --kubeconfig ./kubeconfig
  outrigger apiserver backup --data ./data --to ./backup.redb
  outrigger apiserver restore ./backup.redb --data ./new
  outrigger apiserver export --data ./data > objects.yaml";

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("storage").required(true))]
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
    #[command(after_help = backup::EXAMPLES)]
    Backup(backup::Args),
    /// Print the objects as manifests for `kubectl apply --server-side`
    #[command(after_help = export::EXAMPLES)]
    Export(export::Args),
    /// Restore a backup to a new data folder
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::Args),
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    match &args.verb {
        None => run::run(&args.run, printer),
        Some(Verb::Backup(args)) => backup::run(args, printer),
        Some(Verb::Export(args)) => export::run(args, printer),
        Some(Verb::Restore(args)) => restore::run(args, printer),
    }
}
