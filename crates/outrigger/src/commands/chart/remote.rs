//! Charts in repositories and registries: the flags that name them, and their download.

use std::path::Path;

use outrigger_chart::load::from_archive;
use outrigger_chart::{Chart, Profile};
use outrigger_repository::{Archive, Fetcher, Options, Request};

use super::source::{self, helm_error};
use crate::commands::mirror_flags::MirrorFlags;
use crate::commands::oci_chart::OciChart;
use crate::commands::registry_flags::fetch_error;
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
    mirrors: MirrorFlags,
}

impl RemoteFlags {
    /// Whether the chart must be downloaded.
    pub(crate) fn is_remote(&self, chart: &str) -> bool {
        self.repo.is_some() || chart.contains("://")
    }

    /// Downloads the archive of a chart, verified.
    pub(crate) fn download(&self, chart: &str) -> anyhow::Result<Archive> {
        let fetcher = Fetcher::new(self.mirrors.apply(Options::for_user())?);
        let request = self.request(chart)?;
        runtime::run(async { fetcher.archive(&request).await.map_err(fetch_error) })
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
        let mut version = self.version.clone();
        let (repo, chart) = match &self.repo {
            Some(repo) => (repo.clone(), chart.to_owned()),
            None => match OciChart::parse(chart, version.as_deref())? {
                Some(oci) => {
                    version = oci.version;
                    (oci.url, String::new())
                }
                None => (chart.to_owned(), String::new()),
            },
        };
        Ok(Request {
            repo,
            chart,
            version: version.or(any),
            ..Request::default()
        })
    }
}
