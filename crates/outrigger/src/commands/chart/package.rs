//! `outrigger chart package`: packages a chart folder into a reproducible archive.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_chart::package::{PackageOptions, package};

use super::source::{self, CompatFlag, helm_error};
use crate::atomic_file;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger chart package ./chart
  outrigger chart package ./chart --version 1.2.3 -d dist";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart folders
    #[arg(required = true)]
    charts: Vec<PathBuf>,
    /// Folder to write the archives to
    #[arg(short, long, default_value = ".")]
    destination: PathBuf,
    /// Chart version, instead of the one in Chart.yaml
    #[arg(long)]
    version: Option<String>,
    /// App version, instead of the one in Chart.yaml
    #[arg(long)]
    app_version: Option<String>,
    #[command(flatten)]
    compat: CompatFlag,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let profile = args.compat.profile();
    let options = PackageOptions {
        version: args.version.clone(),
        app_version: args.app_version.clone(),
        modified: None,
    };
    // As Helm prints it.
    let folder = if args.destination.as_os_str() == "." {
        std::env::current_dir()?
    } else {
        args.destination.clone()
    };
    for path in &args.charts {
        let chart = source::load(path, profile)?;
        let package = package(&chart, &options, profile).map_err(helm_error)?;
        atomic_file::create_folder(&folder)?;
        let file = folder.join(package.file_name);
        atomic_file::write(&file, &package.bytes)?;
        printer.line(&format!(
            "Successfully packaged chart and saved it to: {}",
            file.display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
