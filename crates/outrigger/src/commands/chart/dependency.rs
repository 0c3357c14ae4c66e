//! `outrigger chart dependency`: manages the dependencies of a chart, in its `charts/` folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use outrigger_chart::resolve::{self, Resolution};
use outrigger_chart::{Chart, Profile, dependency_list, load, load_path};

use super::host::LocalHost;
use super::source::{self, CompatFlag, helm_error};
use crate::atomic_file;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger chart dependency list ./chart
  outrigger chart dependency update ./chart
  outrigger chart dependency build ./chart";

#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// List the dependencies of a chart and their status
    #[command(visible_alias = "ls")]
    List(Args),
    /// Rebuild charts/ from Chart.lock
    Build(Args),
    /// Update charts/ and Chart.lock from Chart.yaml
    Update(Args),
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart folder
    #[arg(default_value = ".")]
    chart: PathBuf,
    #[command(flatten)]
    compat: CompatFlag,
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::List(args) => list(args, printer)?,
        Verb::Build(args) => write_dependencies(args, resolve::build, printer)?,
        Verb::Update(args) => write_dependencies(args, resolve::update, printer)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let profile = args.compat.profile();
    let chart = source::load(&args.chart, profile)?;
    let entries = load::charts_entries(&args.chart, profile);
    let text = dependency_list::list(&chart, &args.chart.display().to_string(), &entries, profile);
    printer.text(&text)
}

/// `resolve::update` or `resolve::build`.
type Resolve = fn(&Chart, Profile, resolve::LoadLocal<'_>) -> Result<Resolution, resolve::Error>;

fn write_dependencies(args: &Args, resolve: Resolve, printer: &Printer) -> anyhow::Result<()> {
    let profile = args.compat.profile();
    let chart = source::load(&args.chart, profile)?;
    if chart.metadata.dependencies.is_none() {
        // As Helm: there is nothing to resolve, and no lock file is written.
        return Ok(());
    }
    let folder = &args.chart;
    let mut load_local = |path: &str| {
        let path = folder.join(path);
        if path.is_dir() {
            load_path(&path, profile, &mut source::warn).map(Some)
        } else {
            Ok(None)
        }
    };
    let resolution = resolve(&chart, profile, &mut load_local).map_err(helm_error)?;
    if let Some(remote) = resolution.remote.first() {
        let repository = &remote.repository;
        return Err(anyhow::anyhow!(
            "dependency {} is in the remote repository {repository}; only file:// repositories are supported",
            remote.name
        ))
        .hint("copy its archive to charts/, or use a local chart: file://../chart");
    }
    write_charts(&folder.join("charts"), &chart, &resolution)?;
    let generated =
        rfc3339(LocalHost::new(false).seconds()).context("the system time is out of range")?;
    let lock = resolve::lock(&chart, &resolution.locked, generated);
    let (name, text) = resolve::lock_file(&chart, &lock);
    if chart
        .lock
        .as_ref()
        .is_none_or(|old| old.digest != lock.digest)
    {
        atomic_file::write(&folder.join(name), text.as_ref())?;
    }
    printer.text(&resolution.text)
}

/// Writes the archives of the dependencies and deletes archives of other versions. Other files are not touched.
fn write_charts(charts: &Path, chart: &Chart, resolution: &Resolution) -> anyhow::Result<()> {
    if resolution.locked.is_empty() {
        return Ok(());
    }
    fs_err::create_dir_all(charts)?;
    for entry in fs_err::read_dir(charts)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_outdated = resolution
            .archives
            .iter()
            .all(|archive| archive.file_name != name)
            && chart
                .metadata
                .declared()
                .iter()
                .any(|declared| is_archive_of(&name, &declared.name));
        if is_outdated {
            fs_err::remove_file(entry.path())?;
        }
    }
    for archive in &resolution.archives {
        let path = charts.join(&archive.file_name);
        if path.is_dir() {
            bail!("failed to write {}: it is a folder", path.display());
        }
        atomic_file::write(&path, &archive.bytes)?;
    }
    Ok(())
}

/// Whether a file name is `NAME-VERSION.tgz`.
fn is_archive_of(file: &str, name: &str) -> bool {
    let version = file
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".tgz"));
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Formats Unix time as Go does in Chart.lock.
fn rfc3339(seconds: i128) -> Option<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(time.to_string())
}
