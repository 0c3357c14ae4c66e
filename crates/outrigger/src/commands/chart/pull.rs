//! `outrigger chart pull`: downloads a chart archive from a repository or a registry.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_repository::{Error, Fetcher, Options, Request};

use crate::atomic_file;
use crate::commands::mirror_flags::MirrorFlags;
use crate::commands::runtime;
use crate::printer::Printer;
use crate::report::HintExt as _;

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
        None => (args.chart.clone(), String::new()),
    };
    let request = Request {
        repo,
        chart,
        version: args.version.clone(),
        ..Request::default()
    };
    let archive = runtime::run(async { fetcher.archive(&request).await.map_err(hinted) })?;
    fs_err::create_dir_all(&args.destination)?;
    let file = args.destination.join(&archive.file_name);
    atomic_file::write(&file, &archive.bytes)?;
    printer.line(&format!("{} sha256:{}", file.display(), archive.digest))?;
    Ok(ExitCode::SUCCESS)
}

fn hinted(error: Error) -> anyhow::Error {
    let hint = error.hint();
    let error = anyhow::Error::from(error);
    match hint {
        None => error,
        Some(hint) => Err::<(), _>(error)
            .hint(hint)
            .err()
            .unwrap_or_else(|| anyhow::anyhow!("failed")),
    }
}
