//! Charts for those who ask: by digest from memory, else from wherever they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use outrigger_chart::{Chart, File, load_path};
use tokio::time::Instant;
use url::Url;

use crate::Error;
use crate::access::Access;
use crate::cache::Cache;
use crate::download::{Blob, Downloader, Place, blocking};
use crate::error::shown;
use crate::http::{Http, Patience, key};
use crate::index::{self, Index};
use crate::loaded::Loaded;
use crate::local::{self, Found};
use crate::request::{Fetched, Manifests, Options, Request};
use crate::retry::Backoff;
use crate::source::Source;
use crate::unpack::{bad_chart, chart_of, is_manifest, manifests_on_disk, unpack, warn};

/// Fetches charts. Clones share everything.
#[derive(Debug, Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    downloader: Downloader,
    loaded: Loaded,
    /// By address and access. Who asks for the same waits for whoever asked first.
    indexes: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Known>>>>>,
}

/// An index as it was when it was last asked for.
#[derive(Debug, Clone)]
struct Known {
    index: Arc<Index>,
    digest: String,
    offline: bool,
    since: Instant,
}

/// So many indexes are kept in memory.
const MAX_INDEXES: usize = 32;

impl Fetcher {
    pub fn new(options: Options) -> Self {
        let patience = Patience {
            backoff: Backoff {
                tries: options.tries,
                first: options.pause,
                longest: Duration::from_secs(10),
            },
            connect: options.connect_timeout,
            silence: options.silence,
        };
        let cache = Cache::new(options.cache.clone());
        Self {
            shared: Arc::new(Shared {
                downloader: Downloader::new(Http::new(patience), cache),
                loaded: Loaded::default(),
                indexes: Mutex::default(),
                options,
            }),
        }
    }

    /// Fetches a chart.
    pub async fn fetch(&self, request: &Request) -> Result<Fetched, Error> {
        let fetched = match self.source(request)? {
            Source::Local(place) => self.on_disk(place, request).await?,
            Source::Archive(url) => {
                let blob = self.current(&url, &url, request).await?;
                self.load(blob, shown(&url), request).await?
            }
            Source::Repository(url) => self.in_repository(&url, request).await?,
            Source::Named(name) => return Err(Error::Named { name }),
        };
        check_version(&fetched, request)?;
        Ok(fetched)
    }

    /// What a repository has, with the digest of its index.
    pub async fn index(&self, url: &str, access: &Access) -> Result<(Arc<Index>, String), Error> {
        match Source::parse(url, &self.shared.options.base)? {
            Source::Repository(url) => {
                let known = self.known_index(&url, access).await?;
                Ok((known.index, known.digest))
            }
            Source::Local(place) => {
                let (index, digest) = work(move || local::catalogue(&place)).await?;
                Ok((Arc::new(index), digest))
            }
            Source::Archive(_) | Source::Named(_) => Err(Error::BadSource {
                url: url.to_owned(),
                reason: "it is no repository".to_owned(),
            }),
        }
    }

    /// Forgets how old the indexes are: the next to ask asks the servers.
    pub fn refresh(&self) {
        self.indexes(HashMap::clear);
    }

    /// Fetches YAML files: those of a folder, of an archive, or a single one.
    pub async fn fetch_manifests(&self, request: &Request) -> Result<Manifests, Error> {
        let files = match self.source(request)? {
            Source::Local(place) => {
                let request = request.clone();
                let profile = self.shared.options.profile;
                work(move || manifests_on_disk(&place, &request, profile)).await?
            }
            Source::Archive(url) => {
                let blob = self.current(&url, &url, request).await?;
                unpack(
                    &blob.bytes,
                    &shown(&url),
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
                return Err(Error::BadSource {
                    url: shown(&url),
                    reason: "it is neither an archive nor a YAML file".to_owned(),
                });
            }
            Source::Named(name) => return Err(Error::Named { name }),
        };
        let mut files: Vec<File> = files
            .into_iter()
            .filter(|file| is_manifest(&file.name))
            .collect();
        files.sort_by(|one, other| one.name.cmp(&other.name));
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

    async fn in_repository(&self, url: &Url, request: &Request) -> Result<Fetched, Error> {
        let known = self.known_index(url, &request.access).await?;
        let entry = known
            .index
            .choose(&request.chart, request.version.as_deref(), &shown(url))?;
        let reference = entry.urls.first().ok_or_else(|| Error::BadIndex {
            url: shown(url),
            line: None,
            reason: format!("{} {} has no URL", request.chart, entry.version),
        })?;
        if let Some(digest) = &entry.digest
            && let Some(chart) = self.shared.loaded.get(&memory_key(digest, request))
        {
            return Ok(fetched(chart, digest.clone(), known.offline));
        }
        let archive = index::resolve(url, reference)?;
        let blob = match &entry.digest {
            Some(digest) => {
                let place = self.archive_place(&archive, url, request);
                self.shared.downloader.exact(place, digest).await?
            }
            None => self.current(&archive, url, request).await?,
        };
        let mut fetched = self.load(blob, shown(&archive), request).await?;
        fetched.offline |= known.offline;
        Ok(fetched)
    }

    fn archive_place<'a>(&self, url: &'a Url, home: &'a Url, request: &'a Request) -> Place<'a> {
        Place {
            url,
            home,
            access: &request.access,
            limit: self.shared.options.max_archive,
        }
    }

    async fn current(&self, url: &Url, home: &Url, request: &Request) -> Result<Blob, Error> {
        let place = self.archive_place(url, home, request);
        self.shared.downloader.current(place).await
    }

    async fn known_index(&self, url: &Url, access: &Access) -> Result<Known, Error> {
        let address = index::address(url);
        let slot = self.indexes(|indexes| {
            if indexes.len() >= MAX_INDEXES {
                indexes.retain(|_, slot| Arc::strong_count(slot) > 1);
            }
            Arc::clone(indexes.entry(key(&address, access)).or_default())
        });
        let mut slot = slot.lock().await;
        let options = &self.shared.options;
        if let Some(known) = slot
            .as_ref()
            .filter(|known| known.since.elapsed() < options.index_age)
        {
            return Ok(known.clone());
        }
        let place = Place {
            url: &address,
            home: url,
            access,
            limit: options.max_index,
        };
        let blob = self.shared.downloader.current(place).await?;
        let same = slot.as_ref().filter(|known| known.digest == blob.digest);
        let index = if let Some(known) = same {
            Arc::clone(&known.index)
        } else {
            let shown = shown(url);
            work(move || Index::parse(&blob.bytes, &shown).map(Arc::new)).await?
        };
        let known = Known {
            index,
            digest: blob.digest,
            offline: blob.offline,
            since: Instant::now(),
        };
        *slot = Some(known.clone());
        Ok(known)
    }

    fn indexes<T>(
        &self,
        act: impl FnOnce(&mut HashMap<String, Arc<tokio::sync::Mutex<Option<Known>>>>) -> T,
    ) -> T {
        let mut indexes = self
            .shared
            .indexes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        act(&mut indexes)
    }

    /// Makes a chart of an archive, or takes it from memory.
    async fn load(&self, blob: Blob, place: String, request: &Request) -> Result<Fetched, Error> {
        let memory = memory_key(&blob.digest, request);
        if let Some(chart) = self.shared.loaded.get(&memory) {
            return Ok(fetched(chart, blob.digest, blob.offline));
        }
        let profile = self.shared.options.profile;
        let request = request.clone();
        let Blob {
            bytes,
            digest,
            offline,
        } = blob;
        let chart = work(move || chart_of(&bytes, &place, &request, profile)).await?;
        let chart = Arc::new(chart);
        self.shared.loaded.put(memory, &chart);
        Ok(fetched(chart, digest, offline))
    }

    async fn on_disk(&self, place: PathBuf, request: &Request) -> Result<Fetched, Error> {
        let shared = Arc::clone(&self.shared);
        let request = request.clone();
        work(move || shared.load_from_disk(&place, &request)).await
    }
}

impl Shared {
    fn load_from_disk(&self, place: &Path, request: &Request) -> Result<Fetched, Error> {
        let profile = self.options.profile;
        match local::find(place, request)? {
            Found::Folder(folder) => {
                let digest = local::digest_of_folder(&folder)?;
                if let Some(chart) = self.loaded.get(&digest) {
                    return Ok(fetched(chart, digest, false));
                }
                let loaded = load_path(&folder, profile, &mut warn);
                let chart = Arc::new(
                    loaded.map_err(|source| bad_chart(&folder.display().to_string(), source))?,
                );
                self.loaded.put(digest.clone(), &chart);
                Ok(fetched(chart, digest, false))
            }
            Found::Archive { path, digest } => {
                let (bytes, digest) = local::read_archive(&path, digest.as_deref())?;
                let memory = memory_key(&digest, request);
                if let Some(chart) = self.loaded.get(&memory) {
                    return Ok(fetched(chart, digest, false));
                }
                let chart = chart_of(&bytes, &path.display().to_string(), request, profile)?;
                let chart = Arc::new(chart);
                self.loaded.put(memory, &chart);
                Ok(fetched(chart, digest, false))
            }
        }
    }
}

/// Does slow work where it holds up nobody.
async fn work<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    blocking(act).await.unwrap_or(Err(Error::Interrupted))
}

fn fetched(chart: Arc<Chart>, digest: String, offline: bool) -> Fetched {
    Fetched {
        version: chart.metadata.version.clone(),
        chart,
        digest,
        offline,
    }
}

/// Folders inside one archive are charts of their own.
fn memory_key(digest: &str, request: &Request) -> String {
    match request.path.as_deref() {
        None | Some("") => digest.to_owned(),
        Some(path) => format!("{digest}#{path}"),
    }
}

/// A place with one chart may have another version than the one that is asked for.
fn check_version(fetched: &Fetched, request: &Request) -> Result<(), Error> {
    let version = fetched.version.as_str();
    let wanted = request
        .version
        .as_deref()
        .filter(|wanted| !wanted.is_empty());
    if wanted.is_none() || index::pick(&[version], wanted)?.is_some() {
        return Ok(());
    }
    Err(Error::NotFound {
        place: request.repo.clone(),
        chart: fetched.chart.name().to_owned(),
        version: request.version.clone(),
        nearest: vec![version.to_owned()],
    })
}
