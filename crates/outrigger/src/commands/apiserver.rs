//! `outrigger apiserver`: a Kubernetes API server in one process, with its data in one file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_store::{Options, Store};

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

/// The `--data` flag of commands that work on the data of a stopped server.
#[derive(Debug, clap::Args)]
pub(crate) struct DataFlag {
    /// Data folder of the server, which must be stopped
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl DataFlag {
    /// Opens the store. Does not create the folder if it does not exist.
    fn open(&self) -> anyhow::Result<Store> {
        anyhow::ensure!(
            self.data.is_dir(),
            "data folder {} does not exist",
            self.data.display()
        );
        Store::open(Options::in_folder(&self.data)).context("failed to open the data folder")
    }
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    match &args.verb {
        None => run::run(&args.run, printer),
        Some(Verb::Backup(args)) => backup::run(args, printer),
        Some(Verb::Export(args)) => export::run(args, printer),
    }
}
