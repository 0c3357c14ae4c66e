//! Charts in repositories and registries: the flags that name them, and their download.

use std::path::Path;

use outrigger_chart::load::from_archive;
use outrigger_chart::{Chart, Profile};
use outrigger_repository::{Archive, Fetcher, Options, Request, server_of};

use super::source::{self, helm_error};
use crate::commands::mirror_flags::ChartMirrorFlag;
use crate::commands::oci_chart::OciChart;
use crate::commands::registry_flags::{RegistryFlags, fetch_error};
use crate::commands::runtime;
use crate::report::UsageError;

/// Any version, including pre-releases.
const ANY_VERSION: &str = ">0.0.0-0";

#[derive(Debug, clap::Args)]
pub(crate) struct RemoteFlags {
    /// URL of the repository of the chart, which is then given by its name
    #[arg(long, value_name = "URL", help_heading = "Remote charts")]
    repo: Option<String>,
    /// Version or version range of a remote chart
    #[arg(long, value_name = "RANGE", help_heading = "Remote charts")]
    version: Option<String>,
    /// Also select pre-releases; ignored with --version
    #[arg(long, help_heading = "Remote charts")]
    devel: bool,
    #[command(flatten)]
    mirrors: ChartMirrorFlag,
    #[command(flatten)]
    registries: RegistryFlags,
}

impl RemoteFlags {
    /// Whether the chart must be downloaded.
    pub(crate) fn is_remote(&self, chart: &str) -> bool {
        self.repo.is_some() || chart.contains("://")
    }

    /// Downloads the archive of a chart, verified.
    pub(crate) fn download(&self, chart: &str) -> anyhow::Result<Archive> {
        let request = self.request(chart)?;
        let server = server_of(&request.repo);
        download(&request, &self.mirrors, &self.registries, server.as_deref())
    }

    /// Loads a folder or an archive, or downloads the chart.
    pub(crate) fn load(&self, chart: &Path, profile: Profile) -> anyhow::Result<Chart> {
        self.load_with(chart, profile, source::load)
    }

    /// As [`load`](Self::load), but reads local files when a template uses them.
    pub(crate) fn load_lazily(&self, chart: &Path, profile: Profile) -> anyhow::Result<Chart> {
        self.load_with(chart, profile, source::load_lazily)
    }

    fn load_with(
        &self,
        chart: &Path,
        profile: Profile,
        load_local: fn(&Path, Profile) -> anyhow::Result<Chart>,
    ) -> anyhow::Result<Chart> {
        match chart.to_str().filter(|chart| self.is_remote(chart)) {
            Some(remote) => {
                let archive = self.download(remote)?;
                from_archive(&archive.bytes, profile, &mut source::warn).map_err(helm_error)
            }
            None => load_local(chart, profile),
        }
    }

    fn request(&self, chart: &str) -> Result<Request, UsageError> {
        let any = self.devel.then(|| ANY_VERSION.to_owned());
        let mut request = match &self.repo {
            Some(repo) => Request {
                repo: repo.clone(),
                chart: chart.to_owned(),
                version: self.version.clone(),
                ..Request::default()
            },
            None => request(chart, self.version.as_deref())?,
        };
        request.version = request.version.or(any);
        Ok(request)
    }
}

/// The request for the chart at a URL, whose tag may be the version.
pub(crate) fn request(url: &str, version: Option<&str>) -> Result<Request, UsageError> {
    let (repo, version) = match OciChart::parse(url, version)? {
        Some(oci) => (oci.url, oci.version),
        None => (url.to_owned(), version.map(str::to_owned)),
    };
    Ok(Request {
        repo,
        version,
        ..Request::default()
    })
}

/// Downloads the archive of a chart. Credentials of the command line are for `server`.
pub(crate) fn download(
    request: &Request,
    mirrors: &ChartMirrorFlag,
    registries: &RegistryFlags,
    server: Option<&str>,
) -> anyhow::Result<Archive> {
    let options = Options {
        chart_mirrors: mirrors.mirrors()?,
        ..Options::for_user()
    };
    let fetcher = Fetcher::new(registries.chart_options(server, options)?);
    runtime::run(async { fetcher.archive(request).await.map_err(fetch_error) })
}
