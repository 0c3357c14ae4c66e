//! Fetches charts: from memory by digest, else from their source.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use outrigger_chart::{Chart, File, from_files, load};
use tokio::time::Instant;
use url::Url;

use crate::Error;
use crate::access::Access;
use crate::cache::Cache;
use crate::chart_cache::ChartCache;
use crate::download::{Blob, Downloader, blocking};
use crate::error::redact;
use crate::http::{self, ClientConfig, GetRequest, Http};
use crate::index::{self, Index};
use crate::local::{self, LocalChart};
use crate::request::{Fetched, Manifests, Options, Request};
use crate::retry::Backoff;
use crate::source::Source;
use crate::unpack::{invalid_chart, is_manifest, load_archive, local_manifests, unpack, warn};

/// Fetches charts. Clones share all caches.
#[derive(Debug, Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    downloader: Downloader,
    charts: ChartCache,
    indexes: Mutex<Indexes>,
}

/// Indexes by URL and access. Concurrent requests for one index wait for the first of them.
type Indexes = HashMap<String, Arc<tokio::sync::Mutex<Option<CachedIndex>>>>;

#[derive(Debug, Clone)]
struct CachedIndex {
    index: Arc<Index>,
    digest: String,
    offline: bool,
    fetched_at: Instant,
}

/// The maximum number of cached indexes.
const MAX_INDEXES: usize = 32;

impl Fetcher {
    pub fn new(options: Options) -> Self {
        let config = ClientConfig {
            backoff: Backoff {
                max_attempts: options.max_attempts,
                initial: options.initial_backoff,
                max: Duration::from_secs(10),
            },
            connect_timeout: options.connect_timeout,
            read_timeout: options.read_timeout,
            timeout: options.timeout,
        };
        let cache = Cache::new(options.cache.clone());
        Self {
            shared: Arc::new(Shared {
                downloader: Downloader::new(Http::new(config), cache),
                charts: ChartCache::default(),
                indexes: Mutex::default(),
                options,
            }),
        }
    }

    /// Fetches a chart.
    pub async fn fetch(&self, request: &Request) -> Result<Fetched, Error> {
        let fetched = match self.source(request)? {
            Source::Local(path) => self.load_local(path, request).await?,
            Source::Archive(url) => {
                let blob = self.current(&url, &url, request).await?;
                self.load(blob, redact(&url), request).await?
            }
            Source::Repository(url) => self.fetch_from_repository(&url, request).await?,
            Source::Named(name) => return Err(Error::UnresolvedName { name }),
        };
        check_version(&fetched, request)?;
        Ok(fetched)
    }

    /// The index of a repository, and its digest.
    pub async fn index(&self, url: &str, access: &Access) -> Result<(Arc<Index>, String), Error> {
        match Source::parse(url, &self.shared.options.base)? {
            Source::Repository(url) => {
                let cached = self.get_index(&url, access).await?;
                Ok((cached.index, cached.digest))
            }
            Source::Local(path) => {
                let (index, digest) = run_blocking(move || local::index(&path)).await?;
                Ok((Arc::new(index), digest))
            }
            Source::Archive(_) | Source::Named(_) => Err(Error::InvalidSource {
                url: url.to_owned(),
                reason: "it is not a repository".to_owned(),
            }),
        }
    }

    /// Drops cached indexes, so that the next request fetches them again.
    pub fn refresh(&self) {
        self.indexes(HashMap::clear);
    }

    /// Fetches YAML files: those of a folder or an archive, or a single one.
    pub async fn fetch_manifests(&self, request: &Request) -> Result<Manifests, Error> {
        let files = match self.source(request)? {
            Source::Local(path) => {
                let request = request.clone();
                let profile = self.shared.options.profile;
                run_blocking(move || local_manifests(&path, &request, profile)).await?
            }
            Source::Archive(url) => {
                let blob = self.current(&url, &url, request).await?;
                unpack(
                    &blob.bytes,
                    &redact(&url),
                    request,
                    self.shared.options.profile,
                )?
            }
            Source::Repository(url) if is_manifest(url.path()) => {
                let blob = self.current(&url, &url, request).await?;
                let name = url.path().rsplit('/').next().unwrap_or_default();
                vec![File::new(name, blob.bytes)]
            }
            Source::Repository(url) => {
                return Err(Error::InvalidSource {
                    url: redact(&url),
                    reason: "it is neither an archive nor a YAML file".to_owned(),
                });
            }
            Source::Named(name) => return Err(Error::UnresolvedName { name }),
        };
        let mut files: Vec<File> = files
            .into_iter()
            .filter(|file| is_manifest(&file.name))
            .collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let parts: Vec<&[u8]> = files
            .iter()
            .flat_map(|file| [file.name.as_bytes(), file.data.as_slice()])
            .collect();
        let digest = crate::digest::of_parts(&parts);
        Ok(Manifests { files, digest })
    }

    fn source(&self, request: &Request) -> Result<Source, Error> {
        Source::parse(&request.repo, &self.shared.options.base)
    }

    async fn fetch_from_repository(&self, url: &Url, request: &Request) -> Result<Fetched, Error> {
        let cached = self.get_index(url, &request.access).await?;
        let entry = cached
            .index
            .get(&request.chart, request.version.as_deref(), &redact(url))?;
        let reference = entry.urls.first().ok_or_else(|| Error::InvalidIndex {
            url: redact(url),
            line: None,
            reason: format!("{} {} has no URL", request.chart, entry.version),
        })?;
        if let Some(digest) = &entry.digest
            && let Some(chart) = self.shared.charts.get(&cache_key(digest, request))
        {
            return Ok(fetched(chart, digest.clone(), cached.offline));
        }
        let archive = index::resolve(url, reference)?;
        let blob = match &entry.digest {
            Some(digest) => {
                let get = self.archive_request(&archive, url, request);
                self.shared.downloader.by_digest(get, digest).await?
            }
            None => self.current(&archive, url, request).await?,
        };
        let mut fetched = self.load(blob, redact(&archive), request).await?;
        fetched.offline |= cached.offline;
        Ok(fetched)
    }

    fn archive_request<'a>(
        &self,
        url: &'a Url,
        repository: &'a Url,
        request: &'a Request,
    ) -> GetRequest<'a> {
        GetRequest {
            url,
            repository,
            access: &request.access,
            max_bytes: self.shared.options.max_archive_bytes,
        }
    }

    async fn current(&self, url: &Url, repository: &Url, request: &Request) -> Result<Blob, Error> {
        let get = self.archive_request(url, repository, request);
        self.shared.downloader.current(get).await
    }

    async fn get_index(&self, url: &Url, access: &Access) -> Result<CachedIndex, Error> {
        let index_url = index::url(url);
        let slot = self.indexes(|indexes| {
            if indexes.len() >= MAX_INDEXES {
                indexes.retain(|_, slot| Arc::strong_count(slot) > 1);
            }
            let key = http::cache_key(&index_url, access);
            Arc::clone(indexes.entry(key).or_default())
        });
        let mut slot = slot.lock().await;
        let options = &self.shared.options;
        if let Some(cached) = slot
            .as_ref()
            .filter(|cached| cached.fetched_at.elapsed() < options.index_ttl)
        {
            return Ok(cached.clone());
        }
        let get = GetRequest {
            url: &index_url,
            repository: url,
            access,
            max_bytes: options.max_index_bytes,
        };
        let blob = self.shared.downloader.current(get).await?;
        let unchanged = slot.as_ref().filter(|cached| cached.digest == blob.digest);
        let index = if let Some(cached) = unchanged {
            Arc::clone(&cached.index)
        } else {
            let location = redact(url);
            run_blocking(move || Index::parse(&blob.bytes, &location).map(Arc::new)).await?
        };
        let cached = CachedIndex {
            index,
            digest: blob.digest,
            offline: blob.offline,
            fetched_at: Instant::now(),
        };
        *slot = Some(cached.clone());
        Ok(cached)
    }

    fn indexes<T>(&self, f: impl FnOnce(&mut Indexes) -> T) -> T {
        let mut indexes = self
            .shared
            .indexes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        f(&mut indexes)
    }

    /// Loads a chart from an archive, or from memory.
    async fn load(
        &self,
        blob: Blob,
        location: String,
        request: &Request,
    ) -> Result<Fetched, Error> {
        let key = cache_key(&blob.digest, request);
        if let Some(chart) = self.shared.charts.get(&key) {
            return Ok(fetched(chart, blob.digest, blob.offline));
        }
        let profile = self.shared.options.profile;
        let request = request.clone();
        let Blob {
            bytes,
            digest,
            offline,
        } = blob;
        let load = move || load_archive(&bytes, &location, &request, profile);
        let chart = Arc::new(run_blocking(load).await?);
        self.shared.charts.put(key, &chart);
        Ok(fetched(chart, digest, offline))
    }

    async fn load_local(&self, path: PathBuf, request: &Request) -> Result<Fetched, Error> {
        let shared = Arc::clone(&self.shared);
        let request = request.clone();
        run_blocking(move || shared.load_local(&path, &request)).await
    }
}

impl Shared {
    fn load_local(&self, path: &Path, request: &Request) -> Result<Fetched, Error> {
        let profile = self.options.profile;
        match local::find(path, request)? {
            LocalChart::Folder(folder) => {
                let invalid = |source| invalid_chart(&folder.display().to_string(), source);
                let files = load::read_folder(&folder, profile).map_err(invalid)?;
                let digest = local::digest_of_files(&files);
                if let Some(chart) = self.charts.get(&digest) {
                    return Ok(fetched(chart, digest, false));
                }
                let loaded = from_files(files, profile, &mut warn);
                let chart = Arc::new(loaded.map_err(invalid)?);
                self.charts.put(digest.clone(), &chart);
                Ok(fetched(chart, digest, false))
            }
            LocalChart::Archive { path, digest } => {
                let (bytes, digest) = local::read_archive(&path, digest.as_deref())?;
                let key = cache_key(&digest, request);
                if let Some(chart) = self.charts.get(&key) {
                    return Ok(fetched(chart, digest, false));
                }
                let location = path.display().to_string();
                let chart = Arc::new(load_archive(&bytes, &location, request, profile)?);
                self.charts.put(key, &chart);
                Ok(fetched(chart, digest, false))
            }
        }
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    blocking(work).await.unwrap_or(Err(Error::Canceled))
}

fn fetched(chart: Arc<Chart>, digest: String, offline: bool) -> Fetched {
    Fetched {
        version: chart.metadata.version.clone(),
        chart,
        digest,
        offline,
    }
}

/// The key of a chart in memory. An archive may contain several charts, each at its own path.
fn cache_key(digest: &str, request: &Request) -> String {
    match request.path.as_deref() {
        None | Some("") => digest.to_owned(),
        Some(path) => format!("{digest}#{path}"),
    }
}

/// Sources that contain a single chart may have a version that does not match the request.
fn check_version(fetched: &Fetched, request: &Request) -> Result<(), Error> {
    let version = fetched.version.as_str();
    let range = request.version.as_deref().filter(|range| !range.is_empty());
    if range.is_none() || index::select(&[version], range)?.is_some() {
        return Ok(());
    }
    Err(Error::NotFound {
        location: request.repo.clone(),
        chart: fetched.chart.name().to_owned(),
        version: request.version.clone(),
        nearest: vec![version.to_owned()],
    })
}
