//! `outrigger apiserver`: a Kubernetes API in one process and one file.

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
    /// Write a copy of all objects to a file
    Backup(backup::Args),
    /// Print all objects
    Export(export::Args),
}

/// Where a server keeps its objects.
#[derive(Debug, clap::Args)]
pub(crate) struct DataFlag {
    /// The data folder of the server, which must not be in use
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl DataFlag {
    /// The store in the folder. A folder that is not there is not made.
    fn open(&self) -> anyhow::Result<Store> {
        anyhow::ensure!(
            self.data.is_dir(),
            "there is no folder {}",
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
