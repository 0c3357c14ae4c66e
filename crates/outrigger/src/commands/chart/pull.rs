//! `outrigger chart pull`: downloads a chart archive from a repository or a registry, and unpacks it if asked to.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use outrigger_chart::load::archive;
use outrigger_chart::{Profile, from_archive};

use super::remote::RemoteFlags;
use super::source::{helm_error, warn};
use crate::atomic_file;
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError};

const EXAMPLES: &str = "\
Examples:
  outrigger chart pull oci://registry.local:5000/charts/web --version ^1.2
  outrigger chart pull web --repo https://charts.example.com -d charts
  outrigger chart pull web --repo https://charts.example.com --untar";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the chart in the repository, or oci:// or https:// URL of a chart
    chart: String,
    /// Folder to write the archive to
    #[arg(short, long, default_value = ".")]
    destination: PathBuf,
    /// Unpack the chart to a folder of its name instead of writing the archive
    #[arg(long)]
    untar: bool,
    /// Folder in the destination to unpack the chart to
    #[arg(long, value_name = "DIR", requires = "untar", default_value = ".")]
    untardir: PathBuf,
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
    if args.untar {
        let mut folder = args.destination.clone();
        // Without `.`, which is the default.
        folder.extend(
            args.untardir
                .components()
                .filter(|part| *part != Component::CurDir),
        );
        let folder = unpack(&archive.bytes, &folder)?;
        printer.line(&format!("{} sha256:{}", folder.display(), archive.digest))?;
        return Ok(ExitCode::SUCCESS);
    }
    atomic_file::create_folder(&args.destination)?;
    let file = args.destination.join(&archive.file_name);
    atomic_file::write(&file, &archive.bytes)?;
    printer.line(&format!("{} sha256:{}", file.display(), archive.digest))?;
    Ok(ExitCode::SUCCESS)
}

/// Unpacks a chart to a new folder of its name, as Helm does.
fn unpack(archive: &[u8], destination: &Path) -> anyhow::Result<PathBuf> {
    let chart = from_archive(archive, Profile::Helm4, &mut warn).map_err(helm_error)?;
    let files = archive::read(archive, Profile::Helm4).map_err(helm_error)?;
    // The name of a valid chart is one part of a path, and the reader rejects files outside of the archive.
    let folder = destination.join(chart.name());
    if folder.try_exists().unwrap_or(true) {
        return Err(anyhow!("{} already exists", folder.display()))
            .hint("remove it, or choose another folder with --untardir DIR");
    }
    for file in files {
        let path = folder.join(&file.name);
        fs_err::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs_err::write(&path, &*file.data)?;
    }
    Ok(folder)
}
