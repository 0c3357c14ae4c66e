//! The options of the fetcher, its requests and results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use outrigger_chart::load::archive::MAX_ARCHIVE;
use outrigger_chart::{Chart, File, Profile};
use outrigger_oci::{DockerConfig, Mirrors};

use crate::access::Access;
use crate::local::MAX_INDEX;
use crate::mirrors::ChartMirrors;
use crate::rules::Rules;
use crate::wait::WaitObserver;

#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of the cache; `None` disables it
    pub cache: Option<PathBuf>,
    /// Directory that relative `file://` paths are resolved against
    pub base: PathBuf,
    /// Maximum number of attempts of a request
    pub max_attempts: u32,
    /// Delay before the second attempt, doubled for each further one
    pub initial_backoff: Duration,
    pub connect_timeout: Duration,
    /// Maximum time from a request to the header of the response
    pub first_byte_timeout: Duration,
    /// Maximum time between two reads of a body
    pub read_timeout: Duration,
    /// Maximum duration of an attempt, including the body
    pub timeout: Duration,
    /// How long an index is used before it is requested again
    pub index_ttl: Duration,
    pub max_index_bytes: u64,
    pub max_archive_bytes: u64,
    /// Helm version to be compatible with
    pub profile: Profile,
    pub rules: Rules,
    /// Registries that are reached over plain HTTP
    pub plain_http: BTreeSet<String>,
    /// Mirrors of the registries of charts
    pub image_mirrors: Mirrors,
    /// Mirrors of chart repositories
    pub chart_mirrors: ChartMirrors,
    /// Credentials, client certificates and trusted authorities by server, `HOST[:PORT]`, of requests without their own
    pub logins: BTreeMap<String, Access>,
    /// Credentials of Docker, for servers that require some and have none of the above
    pub docker: DockerConfig,
    /// Certificate authorities to trust, in addition to those of the system and those of a request
    pub ca: Option<Vec<u8>>,
    /// Hosts of token services that may receive the credentials of any registry
    pub token_realms: BTreeSet<String>,
    /// Whether a registry may redirect to loopback and link-local addresses
    pub allow_local_redirects: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache: None,
            base: PathBuf::from("."),
            max_attempts: 3,
            initial_backoff: Duration::from_millis(250),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(15),
            read_timeout: Duration::from_secs(15),
            timeout: Duration::from_mins(5),
            index_ttl: Duration::from_mins(1),
            max_index_bytes: MAX_INDEX,
            max_archive_bytes: MAX_ARCHIVE,
            profile: Profile::Helm4,
            rules: Rules::default(),
            plain_http: BTreeSet::new(),
            image_mirrors: Mirrors::default(),
            chart_mirrors: ChartMirrors::default(),
            logins: BTreeMap::new(),
            docker: DockerConfig::default(),
            ca: None,
            token_realms: BTreeSet::new(),
            allow_local_redirects: false,
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
    /// Directory inside the source
    pub path: Option<String>,
    pub access: Access,
    /// Receives what the fetch waits for
    pub observer: WaitObserver,
}

/// A fetched chart.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub chart: Arc<Chart>,
    /// SHA-256 of the archive, or of the files of the directory
    pub digest: String,
    pub version: String,
    /// Whether the repository was unreachable, so that it may have a newer version
    pub offline: bool,
}

/// A downloaded chart archive.
#[derive(Debug, Clone)]
pub struct Archive {
    pub file_name: String,
    /// Version of the chart
    pub version: String,
    pub bytes: Vec<u8>,
    /// SHA-256 of the archive
    pub digest: String,
}

/// Fetched YAML files.
#[derive(Debug, Clone)]
pub struct Manifests {
    /// Sorted by name
    pub files: Vec<File>,
    /// SHA-256 of all names and contents
    pub digest: String,
}
