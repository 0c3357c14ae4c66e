//! Fetches charts: from memory by digest, else from their source.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use outrigger_chart::{Chart, File, from_files, load};
use outrigger_transport::{Backoff, redact};
use tokio::time::Instant;
use url::Url;

use crate::Error;
use crate::access::Access;
use crate::cache::Cache;
use crate::chart_cache::ChartCache;
use crate::download::{Blob, Downloader, blocking};
use crate::http::{self, ClientConfig, GetRequest, Http};
use crate::index::{self, Entry, Index};
use crate::local::{self, LocalChart};
use crate::logins::Logins;
use crate::oci::{self, OciChart, OciClients, OciSource};
use crate::request::{Archive, Fetched, Manifests, Options, Request};
use crate::source::Source;
use crate::unpack::{invalid_chart, is_manifest, load_archive, local_manifests, unpack, warn};
use crate::wait::{Wait, WaitObserver};

/// Fetches charts. Clones share all caches.
#[derive(Debug, Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    downloader: Downloader,
    registries: OciClients,
    logins: Logins,
    charts: ChartCache,
    indexes: Mutex<Indexes>,
}

/// Indexes by URL and access. Concurrent requests for one index wait for the first of them, and share its result.
type Indexes = HashMap<String, Arc<tokio::sync::Mutex<IndexSlot>>>;

#[derive(Debug, Default)]
struct IndexSlot {
    cached: Option<CachedIndex>,
    /// When the last request failed, and why.
    failure: Option<(Instant, Arc<Error>)>,
}

#[derive(Debug, Clone)]
struct CachedIndex {
    index: Arc<Index>,
    digest: String,
    offline: bool,
    fetched_at: Instant,
    /// The memory that the index takes.
    size: usize,
}

/// The references to a slot while nobody else waits for it: that of the table, and one's own.
const UNSHARED: usize = 2;

/// The maximum number of cached indexes.
const MAX_INDEXES: usize = 32;

/// The memory of all cached indexes. The last one is always cached.
const MAX_INDEX_MEMORY: usize = 64 << 20;

/// The memory that an index is expected to take, for each of its bytes. A very dense one takes five times as much.
const PARSED_FACTOR: usize = 2;

/// Drops the indexes that were fetched first, until the others and one of `size` fit into memory. Those in use stay.
fn evict(indexes: &mut Indexes, size: usize) {
    let idle = indexes.iter().filter_map(|(key, slot)| {
        let slot = slot.try_lock().ok()?;
        let cached = slot.cached.as_ref()?;
        Some((cached.fetched_at, key.clone(), cached.size))
    });
    let mut idle: Vec<(Instant, String, usize)> = idle.collect();
    idle.sort();
    let mut total = size + idle.iter().map(|(.., size)| size).sum::<usize>();
    for (_, key, size) in idle {
        if total <= MAX_INDEX_MEMORY {
            break;
        }
        indexes.remove(&key);
        total -= size;
    }
}

impl Fetcher {
    pub fn new(options: Options) -> Self {
        let config = ClientConfig {
            backoff: Backoff {
                max_attempts: options.max_attempts,
                initial: options.initial_backoff,
                max: Duration::from_secs(10),
            },
            connect_timeout: options.connect_timeout,
            first_byte_timeout: options.first_byte_timeout,
            read_timeout: options.read_timeout,
            timeout: options.timeout,
            rules: options.rules.clone(),
        };
        let cache = Cache::new(options.cache.clone());
        Self {
            shared: Arc::new(Shared {
                downloader: Downloader::new(Http::new(config), cache),
                registries: OciClients::default(),
                logins: Logins::default(),
                charts: ChartCache::default(),
                indexes: Mutex::default(),
                options,
            }),
        }
    }

    /// Fetches a chart.
    pub async fn fetch(&self, request: &Request) -> Result<Fetched, Error> {
        let mut request = self.prepared(request)?;
        let fetched = self.fetch_once(&request).await;
        if self.log_in(&mut request, fetched.as_ref().err()).await? {
            return self.fetch_once(&request).await;
        }
        fetched
    }

    async fn fetch_once(&self, request: &Request) -> Result<Fetched, Error> {
        let fetched = match self.source(request)? {
            Source::Local(path) => self.load_local(path, request).await?,
            Source::Archive(url) => {
                let blob = self.current(&url, &url, request).await?;
                self.load(blob, redact(&url), request).await?
            }
            Source::Repository(url) => self.fetch_from_repository(&url, request).await?,
            Source::Oci(source) => self.fetch_from_registry(&source, request).await?,
            Source::Named(name) => return Err(Error::UnresolvedName { name }),
        };
        check_version(&fetched, request)?;
        Ok(fetched)
    }

    /// Downloads the archive of a chart, verified.
    pub async fn archive(&self, request: &Request) -> Result<Archive, Error> {
        let mut request = self.prepared(request)?;
        let archive = self.archive_once(&request).await;
        if self.log_in(&mut request, archive.as_ref().err()).await? {
            return self.archive_once(&request).await;
        }
        archive
    }

    async fn archive_once(&self, request: &Request) -> Result<Archive, Error> {
        let location = request.repo.clone();
        let blob = match self.source(request)? {
            Source::Archive(url) => self.current(&url, &url, request).await?,
            Source::Repository(url) => self.download_from_repository(&url, request).await?.0,
            Source::Oci(source) => self.download_from_registry(&source, request).await?,
            Source::Local(_) | Source::Named(_) => {
                return Err(Error::InvalidSource {
                    url: request.repo.clone(),
                    reason: "it is neither a repository nor a registry".to_owned(),
                });
            }
        };
        let profile = self.shared.options.profile;
        let request = request.clone();
        run_blocking(move || {
            let chart = load_archive(&blob.bytes, &location, &request, profile)?;
            let version = chart.metadata.version.clone();
            Ok(Archive {
                file_name: format!("{}-{version}.tgz", chart.name()),
                version,
                bytes: blob.bytes,
                digest: blob.digest,
            })
        })
        .await
    }

    /// The index of a repository, and its digest.
    pub async fn index(&self, url: &str, access: &Access) -> Result<(Arc<Index>, String), Error> {
        let request = Request {
            repo: url.to_owned(),
            access: access.clone(),
            ..Request::default()
        };
        let shared = &self.shared;
        let mut request = shared.logins.apply(&shared.options, request)?;
        let index = self.index_once(url, &request.access).await;
        if self.log_in(&mut request, index.as_ref().err()).await? {
            return self.index_once(url, &request.access).await;
        }
        index
    }

    async fn index_once(&self, url: &str, access: &Access) -> Result<(Arc<Index>, String), Error> {
        match self.parse(url)? {
            Source::Repository(url) => {
                let observer = WaitObserver::default();
                let cached = self.get_index(&url, access, &observer).await?;
                Ok((cached.index, cached.digest))
            }
            Source::Local(path) => {
                let (index, digest) = run_blocking(move || local::index(&path)).await?;
                Ok((Arc::new(index), digest))
            }
            // A registry has no index of charts, so only its availability is checked.
            Source::Oci(source) => {
                let shared = &self.shared;
                oci::ping(&shared.registries, &shared.options, &source, access).await?;
                Ok((Arc::default(), crate::digest::of(url.as_bytes())))
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

    /// Fetches YAML files: those of a directory or an archive, or a single one.
    pub async fn fetch_manifests(&self, request: &Request) -> Result<Manifests, Error> {
        let mut request = self.prepared(request)?;
        let manifests = self.manifests_once(&request).await;
        if self.log_in(&mut request, manifests.as_ref().err()).await? {
            return self.manifests_once(&request).await;
        }
        manifests
    }

    async fn manifests_once(&self, request: &Request) -> Result<Manifests, Error> {
        let files = match self.source(request)? {
            Source::Local(path) => {
                let request = request.clone();
                let profile = self.shared.options.profile;
                let rules = self.shared.options.rules.clone();
                run_blocking(move || {
                    rules.check_links(&path)?;
                    local_manifests(&path, &request, profile)
                })
                .await?
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
            Source::Oci(source) => {
                return Err(Error::InvalidSource {
                    url: source.url(),
                    reason: "manifests cannot be fetched from a registry; use a chart".to_owned(),
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

    /// The request at the mirror of its repository, with the credentials that are known for that.
    fn prepared(&self, request: &Request) -> Result<Request, Error> {
        let shared = &self.shared;
        shared.logins.apply(&shared.options, self.mirrored(request))
    }

    /// Adds credentials to a request that failed without. `false` if it would fail again.
    async fn log_in(&self, request: &mut Request, error: Option<&Error>) -> Result<bool, Error> {
        let shared = &self.shared;
        match error {
            Some(error) => shared.logins.look_up(&shared.options, request, error).await,
            None => Ok(false),
        }
    }

    /// Whether a source is fetched from a mirror, at first.
    pub fn is_mirrored(&self, repo: &str) -> bool {
        let options = &self.shared.options;
        if options.chart_mirrors.apply(repo).is_some() {
            return true;
        }
        match Source::parse(repo, &options.base) {
            Ok(Source::Oci(source)) => oci::is_mirrored(options, &source),
            _ => false,
        }
    }

    /// The request at the mirror of its repository, which does not get the credentials of the repository.
    fn mirrored(&self, request: &Request) -> Request {
        match self.shared.options.chart_mirrors.apply(&request.repo) {
            None => request.clone(),
            Some(repo) => Request {
                repo,
                access: Access::default(),
                ..request.clone()
            },
        }
    }

    async fn fetch_from_registry(
        &self,
        source: &OciSource,
        request: &Request,
    ) -> Result<Fetched, Error> {
        let shared = &self.shared;
        let found = oci::find(&shared.registries, &shared.options, source, request).await?;
        let digest = found.layer.digest.hex();
        if let Some(chart) = shared.charts.get(&cache_key(digest, request)) {
            return Ok(fetched(chart, digest.to_owned(), false));
        }
        let blob = self.download_layer(&found).await?;
        self.load(blob, source.url(), request).await
    }

    async fn download_from_registry(
        &self,
        source: &OciSource,
        request: &Request,
    ) -> Result<Blob, Error> {
        let shared = &self.shared;
        let found = oci::find(&shared.registries, &shared.options, source, request).await?;
        self.download_layer(&found).await
    }

    /// The archive of a chart in a registry, from the cache if it is there.
    async fn download_layer(&self, found: &OciChart) -> Result<Blob, Error> {
        let digest = found.layer.digest.hex();
        if let Some(blob) = self.shared.downloader.by_content(digest).await {
            return Ok(blob);
        }
        let bytes = found
            .download(self.shared.options.max_archive_bytes)
            .await?;
        Ok(self.shared.downloader.keep(bytes, digest.to_owned()).await)
    }

    fn source(&self, request: &Request) -> Result<Source, Error> {
        self.parse(&request.repo)
    }

    fn parse(&self, repo: &str) -> Result<Source, Error> {
        let options = &self.shared.options;
        let source = Source::parse(repo, &options.base)?;
        if let Source::Local(path) = &source {
            options.rules.check_path(path)?;
            options.rules.check_index(path)?;
        }
        Ok(source)
    }

    async fn fetch_from_repository(&self, url: &Url, request: &Request) -> Result<Fetched, Error> {
        let cached = self
            .get_index(url, &request.access, &request.observer)
            .await?;
        let entry = cached
            .index
            .get(&request.chart, request.version.as_deref(), &redact(url))?;
        let reference = archive_url(entry, url, request)?;
        if let Some(digest) = &entry.digest
            && let Some(chart) = self.shared.charts.get(&cache_key(digest, request))
        {
            let fetched = fetched(chart, digest.clone(), cached.offline);
            check_entry(&fetched, entry, request, &redact(url))?;
            return Ok(fetched);
        }
        let archive = index::resolve(url, reference)?;
        let blob = self.download_entry(entry, &archive, url, request).await?;
        let mut fetched = self.load(blob, redact(&archive), request).await?;
        fetched.offline |= cached.offline;
        check_entry(&fetched, entry, request, &redact(&archive))?;
        Ok(fetched)
    }

    /// The archive of the version that a request selects, and whether the index may be outdated.
    async fn download_from_repository(
        &self,
        url: &Url,
        request: &Request,
    ) -> Result<(Blob, bool), Error> {
        let cached = self
            .get_index(url, &request.access, &request.observer)
            .await?;
        let location = redact(url);
        let entry = cached
            .index
            .get(&request.chart, request.version.as_deref(), &location)?;
        let archive = index::resolve(url, archive_url(entry, url, request)?)?;
        let blob = self.download_entry(entry, &archive, url, request).await?;
        Ok((blob, cached.offline))
    }

    async fn download_entry(
        &self,
        entry: &Entry,
        archive: &Url,
        repository: &Url,
        request: &Request,
    ) -> Result<Blob, Error> {
        match &entry.digest {
            Some(digest) => {
                let get = self.archive_request(archive, repository, request);
                self.shared.downloader.by_digest(get, digest).await
            }
            None => self.current(archive, repository, request).await,
        }
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
            observer: &request.observer,
            max_bytes: self.shared.options.max_archive_bytes,
        }
    }

    async fn current(&self, url: &Url, repository: &Url, request: &Request) -> Result<Blob, Error> {
        let get = self.archive_request(url, repository, request);
        self.shared.downloader.current(get).await
    }

    async fn get_index(
        &self,
        url: &Url,
        access: &Access,
        observer: &WaitObserver,
    ) -> Result<CachedIndex, Error> {
        let index_url = index::url(url);
        let shared = self.indexes(|indexes| {
            if indexes.len() >= MAX_INDEXES {
                indexes.retain(|_, slot| Arc::strong_count(slot) > 1);
            }
            let key = http::cache_key(&index_url, access);
            Arc::clone(indexes.entry(key).or_default())
        });
        let asked_at = Instant::now();
        let mut locked = if let Ok(locked) = shared.try_lock() {
            locked
        } else {
            observer.report(|| Wait::Index);
            shared.lock().await
        };
        let slot = &mut *locked;
        let options = &self.shared.options;
        if let Some((failed_at, error)) = &slot.failure
            && *failed_at >= asked_at
        {
            return Err(Error::Shared(Arc::clone(error)));
        }
        if let Some(cached) = slot
            .cached
            .as_ref()
            .filter(|cached| cached.fetched_at.elapsed() < options.index_ttl)
        {
            return Ok(cached.clone());
        }
        let get = GetRequest {
            url: &index_url,
            repository: url,
            access,
            observer,
            max_bytes: options.max_index_bytes,
        };
        let fetched = self.download_index(get, slot.cached.as_ref()).await;
        slot.failure = None;
        match fetched {
            Ok(cached) => {
                slot.cached = Some(cached.clone());
                self.indexes(|indexes| evict(indexes, cached.size));
                Ok(cached)
            }
            Err(error) if Arc::strong_count(&shared) <= UNSHARED => Err(error),
            Err(error) => {
                let error = Arc::new(error);
                slot.failure = Some((Instant::now(), Arc::clone(&error)));
                Err(Error::Shared(error))
            }
        }
    }

    async fn download_index(
        &self,
        get: GetRequest<'_>,
        before: Option<&CachedIndex>,
    ) -> Result<CachedIndex, Error> {
        let blob = self.shared.downloader.current(get).await?;
        let unchanged = before.filter(|cached| cached.digest == blob.digest);
        let index = if let Some(cached) = unchanged {
            Arc::clone(&cached.index)
        } else {
            let location = redact(get.repository);
            let permit = self.shared.downloader.limits().parse(blob.bytes.len());
            let held = (permit.await, blob.counted);
            let bytes = blob.bytes;
            self.indexes(|indexes| evict(indexes, PARSED_FACTOR * bytes.len()));
            run_blocking(move || {
                let index = Index::parse(&bytes, &location).map(Arc::new);
                drop((bytes, held));
                index
            })
            .await?
        };
        Ok(CachedIndex {
            size: index.size(),
            index,
            digest: blob.digest,
            offline: blob.offline,
            fetched_at: Instant::now(),
        })
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
            counted,
        } = blob;
        let permit = self.shared.downloader.limits().parse(bytes.len());
        let held = (permit.await, counted);
        let load = move || {
            let chart = load_archive(&bytes, &location, &request, profile);
            drop((bytes, held));
            chart
        };
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
        let directory = path.join(request.path.as_deref().unwrap_or_default());
        self.options.rules.check_index(&directory)?;
        match local::find(path, request)? {
            LocalChart::Directory(directory) => {
                self.options.rules.check_links(&directory)?;
                let invalid = |source| invalid_chart(&directory.display().to_string(), source);
                let files = load::read_folder(&directory, profile).map_err(invalid)?;
                let digest = local::digest_of_files(&files);
                if let Some(chart) = self.charts.get(&digest) {
                    return Ok(fetched(chart, digest, false));
                }
                let loaded = from_files(files, profile, &mut warn);
                let chart = Arc::new(loaded.map_err(invalid)?);
                self.charts.put(digest.clone(), &chart);
                Ok(fetched(chart, digest, false))
            }
            LocalChart::Archive {
                path,
                digest,
                entry,
            } => {
                self.options.rules.check_path(&path)?;
                let (bytes, digest) = local::read_archive(&path, digest.as_deref())?;
                let key = cache_key(&digest, request);
                let location = path.display().to_string();
                let chart = if let Some(chart) = self.charts.get(&key) {
                    chart
                } else {
                    let chart = load_archive(&bytes, &location, request, profile)?;
                    let chart = Arc::new(chart);
                    self.charts.put(key, &chart);
                    chart
                };
                let fetched = fetched(chart, digest, false);
                if let Some(entry) = entry {
                    check_entry(&fetched, &entry, request, &location)?;
                }
                Ok(fetched)
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

/// The URL of the archive of an entry, absolute or relative to the repository.
fn archive_url<'a>(entry: &'a Entry, url: &Url, request: &Request) -> Result<&'a str, Error> {
    let reference = entry.url.as_ref().ok_or_else(|| Error::InvalidIndex {
        url: redact(url),
        line: None,
        reason: format!("{} {} has no URL", request.chart, entry.version),
    })?;
    Ok(reference)
}

/// The key of a chart in memory. An archive may contain several charts, each at its own path.
fn cache_key(digest: &str, request: &Request) -> String {
    match request.path.as_deref() {
        None | Some("") => digest.to_owned(),
        Some(path) => format!("{digest}#{path}"),
    }
}

/// An archive contains the chart that its entry in the index names. A path inside the archive may be that of another one.
fn check_entry(
    fetched: &Fetched,
    entry: &Entry,
    request: &Request,
    location: &str,
) -> Result<(), Error> {
    let has_path = request.path.as_ref().is_some_and(|path| !path.is_empty());
    let name = fetched.chart.name();
    let is_same_version = plain(&fetched.version) == plain(&entry.version);
    if has_path || (name == request.chart && is_same_version) {
        return Ok(());
    }
    Err(Error::WrongChart {
        location: location.to_owned(),
        expected: format!("{} {}", request.chart, entry.version),
        found: format!("{name} {}", fetched.version),
    })
}

/// A version without the leading `v` that some charts have.
fn plain(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn indexes_are_cached_by_their_size() {
        let start = Instant::now();
        let slot = |number: u64, size: usize| {
            let cached = CachedIndex {
                index: Arc::default(),
                digest: String::new(),
                offline: false,
                fetched_at: start + Duration::from_secs(number),
                size,
            };
            let slot = IndexSlot {
                cached: Some(cached),
                failure: None,
            };
            (number.to_string(), Arc::new(tokio::sync::Mutex::new(slot)))
        };
        let third = MAX_INDEX_MEMORY / 3;
        let mut indexes: Indexes = (0..3).map(|number| slot(number, third)).collect();
        evict(&mut indexes, 1);
        assert_eq!(indexes.len(), 3);
        evict(&mut indexes, third);
        assert!(!indexes.contains_key("0") && indexes.len() == 2);
        // The one that is in use stays, whatever its size.
        let used = Arc::clone(&indexes["1"]);
        let _locked = used.lock().await;
        evict(&mut indexes, 2 * MAX_INDEX_MEMORY);
        assert!(indexes.contains_key("1") && indexes.len() == 1);
    }
}
