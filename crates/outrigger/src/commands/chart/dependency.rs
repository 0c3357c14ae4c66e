//! `outrigger chart dependency`: manages the dependencies of a chart, in its `charts/` folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use outrigger_chart::metadata::Dependency;
use outrigger_chart::package::Package;
use outrigger_chart::resolve::{self, Resolution};
use outrigger_chart::{Chart, Profile, dependency_list, load, load_path};
use outrigger_repository::{Archive, Fetcher, Options, Request, server_of};

use super::host::LocalHost;
use super::source::{self, CompatFlag, helm_error};
use crate::atomic_file;
use crate::commands::mirror_flags::ChartMirrorFlag;
use crate::commands::registry_flags::{RegistryFlags, fetch_error, only_one};
use crate::commands::runtime;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger chart dependency list ./chart
  outrigger chart dependency update ./chart
  outrigger chart dependency build ./chart
  outrigger chart dependency update ./chart --chart-mirror 'https://charts.example.com=oci://registry.local:5000/charts'";

#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// List the dependencies of a chart and their status
    #[command(visible_alias = "ls")]
    List(Args),
    /// Rebuild charts/ from Chart.lock
    Build(ResolveArgs),
    /// Update charts/ and Chart.lock from Chart.yaml
    Update(ResolveArgs),
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

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    args: Args,
    #[command(flatten)]
    mirrors: ChartMirrorFlag,
    #[command(flatten)]
    registries: RegistryFlags,
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

fn write_dependencies(
    args: &ResolveArgs,
    resolve: Resolve,
    printer: &Printer,
) -> anyhow::Result<()> {
    let ResolveArgs { args: common, .. } = args;
    let profile = common.compat.profile();
    let chart = source::load(&common.chart, profile)?;
    let folder = &common.chart;
    let mut load_local = |path: &str| {
        let path = folder.join(path);
        if path.is_dir() {
            load_path(&path, profile, &mut source::warn).map(Some)
        } else {
            Ok(None)
        }
    };
    let mut resolution = resolve(&chart, profile, &mut load_local).map_err(helm_error)?;
    download(&mut resolution, args, profile)?;
    write_charts(&folder.join("charts"), &chart, &resolution)?;
    if resolution.writes_lock {
        write_lock(folder, &chart, &resolution.locked)?;
    }
    printer.text(&resolution.text)
}

/// Writes the lock file, unless it has the same digest.
fn write_lock(folder: &Path, chart: &Chart, locked: &[Dependency]) -> anyhow::Result<()> {
    let generated =
        rfc3339(LocalHost::new(false).seconds()).context("the system time is out of range")?;
    let lock = resolve::lock(chart, locked, generated);
    let old = chart.lock.as_ref();
    if old.is_none_or(|old| old.digest != lock.digest) {
        let (name, text) = resolve::lock_file(chart, &lock);
        atomic_file::write(&folder.join(name), text.as_ref())?;
    }
    Ok(())
}

/// The maximum number of dependencies that are downloaded at the same time.
const PARALLEL_DOWNLOADS: usize = 4;

/// Downloads the dependencies in repositories and registries, and locks their versions.
fn download(
    resolution: &mut Resolution,
    args: &ResolveArgs,
    profile: Profile,
) -> anyhow::Result<()> {
    if resolution.remote.is_empty() {
        return Ok(());
    }
    resolution.remote.iter().try_for_each(check_repository)?;
    let servers: Vec<String> = resolution
        .remote
        .iter()
        .filter_map(|dependency| server_of(&dependency.repository))
        .collect();
    let server = only_one(servers.iter().map(String::as_str));
    let options = Options {
        profile,
        chart_mirrors: args.mirrors.mirrors()?,
        ..Options::for_user()
    };
    let fetcher = Fetcher::new(args.registries.chart_options(server, options)?);
    let fetcher = &fetcher;
    let remote = std::mem::take(&mut resolution.remote);
    let fetches = remote.iter().map(|dependency| async move {
        let request = Request {
            repo: dependency.repository.clone(),
            chart: dependency.name.clone(),
            version: Some(dependency.version.clone()).filter(|version| !version.is_empty()),
            ..Request::default()
        };
        let fetched = fetcher.archive(&request).await.map_err(fetch_error);
        fetched.with_context(|| format!("failed to download the dependency {}", dependency.name))
    });
    let fetches = stream::iter(fetches).buffered(PARALLEL_DOWNLOADS);
    let archives: Vec<Archive> = runtime::run(fetches.try_collect())?;
    for (dependency, archive) in remote.iter().zip(archives) {
        let locked = resolution.locked.iter_mut();
        for locked in locked.filter(|locked| *locked == dependency) {
            locked.version.clone_from(&archive.version);
        }
        resolution.archives.push(Package {
            file_name: archive.file_name,
            bytes: archive.bytes,
        });
    }
    Ok(())
}

/// Fails for names of repositories, which Helm looks up in its own configuration.
fn check_repository(dependency: &Dependency) -> anyhow::Result<()> {
    let Dependency {
        name, repository, ..
    } = dependency;
    if repository.contains("://") {
        return Ok(());
    }
    let error = format!("dependency {name} is in {repository}, which is not a URL");
    Err(anyhow::Error::msg(error)).hint("use the URL of the repository: https:// or oci://")
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
