//! `outrigger chart pull`: downloads a chart archive from a repository or a registry.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_repository::{Fetcher, Options, Request};

use crate::atomic_file;
use crate::commands::mirror_flags::MirrorFlags;
use crate::commands::registry_flags::fetch_error;
use crate::commands::runtime;
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
    /// URL of the repository
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// Version or version range
    #[arg(long)]
    version: Option<String>,
    /// Folder to write the archive to
    #[arg(short, long, default_value = ".")]
    destination: PathBuf,
    #[command(flatten)]
    mirrors: MirrorFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let fetcher = Fetcher::new(args.mirrors.apply(Options::for_user())?);
    let (repo, chart) = match &args.repo {
        Some(repo) => (repo.clone(), args.chart.clone()),
        None if args.chart.contains("://") => (args.chart.clone(), String::new()),
        None => {
            let error = UsageError(format!("{} is not the URL of a chart", args.chart));
            return Err(error).hint(
                "add --repo URL, the repository of the chart, or use an oci:// or https:// URL",
            );
        }
    };
    let request = Request {
        repo,
        chart,
        version: args.version.clone(),
        ..Request::default()
    };
    let archive = runtime::run(async { fetcher.archive(&request).await.map_err(fetch_error) })?;
    fs_err::create_dir_all(&args.destination)?;
    let file = args.destination.join(&archive.file_name);
    atomic_file::write(&file, &archive.bytes)?;
    printer.line(&format!("{} sha256:{}", file.display(), archive.digest))?;
    Ok(ExitCode::SUCCESS)
}
