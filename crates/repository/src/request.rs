//! What is asked for, what comes back, and how hard to try.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use outrigger_chart::{Chart, File, Profile};

use crate::access::Access;

/// How to fetch.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where fetched charts are kept; none to keep nothing
    pub cache: Option<PathBuf>,
    /// Where relative `file://` paths begin
    pub base: PathBuf,
    /// How often to ask a server that fails
    pub tries: u32,
    /// How long to wait before the second try; doubled for each further one
    pub pause: Duration,
    pub connect_timeout: Duration,
    /// How long a server may be silent
    pub silence: Duration,
    /// How old an index may be before the server is asked for a newer one
    pub index_age: Duration,
    /// The largest index, in bytes
    pub max_index: u64,
    /// The largest archive, in bytes
    pub max_archive: u64,
    /// The Helm to be identical to
    pub profile: Profile,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache: None,
            base: PathBuf::from("."),
            tries: 4,
            pause: Duration::from_millis(250),
            connect_timeout: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            index_age: Duration::from_mins(1),
            max_index: 128 << 20,
            max_archive: 100 << 20,
            profile: Profile::Helm4,
        }
    }
}

impl Options {
    /// The same with the cache in the user's cache folder: `$XDG_CACHE_HOME/outrigger/charts`, or below `~/.cache`.
    pub fn for_user() -> Self {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = || folder("HOME").map(|home| Path::new(&home).join(".cache"));
        let caches = folder("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        Self {
            cache: caches.map(|caches| caches.join("outrigger").join("charts")),
            ..Self::default()
        }
    }
}

/// A chart to fetch.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Where it is, as [`Source::parse`] reads it
    pub repo: String,
    /// Its name. Of no account where there is only one chart
    pub chart: String,
    /// An exact version or a range; the newest release if empty
    pub version: Option<String>,
    /// A folder inside the archive or folder
    pub path: Option<String>,
    pub access: Access,
}

/// A chart that was fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub chart: Arc<Chart>,
    /// The SHA-256 of its archive, or of the files of its folder
    pub digest: String,
    pub version: String,
    /// Whether the repository could not be asked, so that it may have a newer version
    pub offline: bool,
}

/// YAML files that were fetched.
#[derive(Debug, Clone)]
pub struct Manifests {
    /// In the order of their names
    pub files: Vec<File>,
    /// The SHA-256 of all of them
    pub digest: String,
}
