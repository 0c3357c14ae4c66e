//! `outrigger chart pull`: downloads a chart archive from a repository or a registry.

use std::path::PathBuf;
use std::process::ExitCode;

use super::remote::RemoteFlags;
use crate::atomic_file;
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError};

const EXAMPLES: &str = "\
Examples:
  outrigger chart pull oci://registry.local:5000/charts/web --version ^1.2
  outrigger chart pull web --repo https://charts.example.com -d charts";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the chart in the repository, or oci:// or https:// URL of a chart
    chart: String,
    /// Folder to write the archive to
    #[arg(short, long, default_value = ".")]
    destination: PathBuf,
    #[command(flatten)]
    remote: RemoteFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    if !args.remote.is_remote(&args.chart) {
        let error = UsageError(format!("{} is not the URL of a chart", args.chart));
        return Err(error)
            .hint("add --repo URL, the repository of the chart, or use an oci:// or https:// URL");
    }
    let archive = args.remote.download(&args.chart)?;
    fs_err::create_dir_all(&args.destination)?;
    let file = args.destination.join(&archive.file_name);
    atomic_file::write(&file, &archive.bytes)?;
    printer.line(&format!("{} sha256:{}", file.display(), archive.digest))?;
    Ok(ExitCode::SUCCESS)
}
