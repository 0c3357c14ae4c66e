//! The options of the fetcher, its requests and results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use outrigger_chart::load::archive::MAX_ARCHIVE;
use outrigger_chart::{Chart, File, Profile};

use crate::access::Access;
use crate::local::MAX_INDEX;

#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of the cache; `None` disables it
    pub cache: Option<PathBuf>,
    /// Folder that relative `file://` paths are resolved against
    pub base: PathBuf,
    /// Maximum number of attempts of a request
    pub max_attempts: u32,
    /// Delay before the second attempt, doubled for each further one
    pub initial_backoff: Duration,
    pub connect_timeout: Duration,
    pub read_timeout: Duration,
    /// Maximum duration of an attempt, including the body
    pub timeout: Duration,
    /// How long an index is used before it is requested again
    pub index_ttl: Duration,
    pub max_index_bytes: u64,
    pub max_archive_bytes: u64,
    /// Helm version to be compatible with
    pub profile: Profile,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache: None,
            base: PathBuf::from("."),
            max_attempts: 4,
            initial_backoff: Duration::from_millis(250),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            timeout: Duration::from_mins(5),
            index_ttl: Duration::from_mins(1),
            max_index_bytes: MAX_INDEX,
            max_archive_bytes: MAX_ARCHIVE,
            profile: Profile::Helm4,
        }
    }
}

impl Options {
    /// Defaults with a cache in `$XDG_CACHE_HOME/outrigger/charts` or `~/.cache/outrigger/charts`.
    pub fn for_user() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
        let caches = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        Self {
            cache: caches.map(|caches| caches.join("outrigger").join("charts")),
            ..Self::default()
        }
    }
}

/// A chart to fetch.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Source of the chart, in the syntax of [`Source::parse`](crate::Source::parse)
    pub repo: String,
    /// Name of the chart. Ignored if the source contains a single chart
    pub chart: String,
    /// Version or version range. Defaults to the newest release
    pub version: Option<String>,
    /// Folder inside the source
    pub path: Option<String>,
    pub access: Access,
}

/// A fetched chart.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub chart: Arc<Chart>,
    /// SHA-256 of the archive, or of the files of the folder
    pub digest: String,
    pub version: String,
    /// Whether the repository was unreachable, so that it may have a newer version
    pub offline: bool,
}

/// Fetched YAML files.
#[derive(Debug, Clone)]
pub struct Manifests {
    /// Sorted by name
    pub files: Vec<File>,
    /// SHA-256 of all names and contents
    pub digest: String,
}
