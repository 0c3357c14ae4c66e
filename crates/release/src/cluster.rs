//! A cluster: its client, the cached discovery, and the limits that all releases share.

mod api_resources;
mod await_condition;
mod existence;
mod requests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use outrigger_chart::Capabilities;
use outrigger_gotmpl::ParseCache;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::error::Error;
use crate::id::ObjectId;
use crate::record::chart::ChartCache;

pub(crate) use api_resources::ApiResources;
pub(crate) use await_condition::await_condition;
pub use existence::ExistenceCache;
pub(crate) use requests::{ApplyOptions, DeleteOutcome};

/// Requests of one operation at a time.
pub(crate) const CONCURRENT_REQUESTS: usize = 16;

/// Requests of all releases at a time. Each uses a connection of its own, and more connections only cost the API server
/// more handshakes.
const MAX_REQUESTS: usize = 32;

/// How long the API server may take to respond. It gives up on a request itself after 60 seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long discovery is cached if nothing invalidates it.
const DISCOVERY_TTL: Duration = Duration::from_secs(10);

/// Size of a cache of parsed templates.
const PARSE_CACHE_BYTES: usize = 8 << 20;

/// A cluster. Cheap to clone; clones share all caches and limits.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    discovery: Mutex<Option<Discovery>>,
    /// Held during discovery, so that concurrent callers share one.
    discovering: tokio::sync::Mutex<()>,
    /// Caches of parsed templates that no render uses at the moment.
    parse_caches: Mutex<Vec<ParseCache>>,
    requests: Semaphore,
    existence: Arc<ExistenceCache>,
    charts: ChartCache,
}

#[derive(Clone)]
struct Discovery {
    started: Instant,
    resources: Arc<ApiResources>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    pub fn new(client: Client) -> Self {
        Self::with_existence_cache(client, Arc::default())
    }

    /// A cluster whose existence cache is fed by watches.
    pub fn with_existence_cache(client: Client, existence: Arc<ExistenceCache>) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                discovery: Mutex::new(None),
                discovering: tokio::sync::Mutex::new(()),
                parse_caches: Mutex::new(Vec::new()),
                requests: Semaphore::new(MAX_REQUESTS),
                existence,
                charts: ChartCache::default(),
            }),
        }
    }

    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Sends a request, within the limit on concurrent requests.
    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<T, kube::Error> {
        // The semaphore is never closed.
        let _permit = self.inner.requests.acquire().await;
        within_timeout(self.inner.client.request(request)).await
    }

    pub(crate) fn existence(&self) -> &ExistenceCache {
        &self.inner.existence
    }

    /// The `.Capabilities` of templates.
    pub async fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(self.api_resources().await?.capabilities().clone())
    }

    /// Drops the cached discovery, because the served API resources may have changed.
    pub fn invalidate_discovery(&self) {
        *lock(&self.inner.discovery) = None;
    }

    /// Sets the namespace of an object: none for cluster-scoped kinds, `default_namespace` if it has none.
    pub async fn resolve(
        &self,
        object: &ObjectId,
        default_namespace: &str,
    ) -> Result<ObjectId, Error> {
        let (version, kind) = (&object.api_version, &object.kind);
        let resources = self.api_resources_with(version, kind).await?;
        resources
            .resolve(object, default_namespace)
            .ok_or_else(|| unknown_kind(object))
    }

    pub(crate) fn charts(&self) -> &ChartCache {
        &self.inner.charts
    }

    /// Runs a render with a cache of parsed templates.
    pub(crate) fn with_parse_cache<T>(&self, render: impl FnOnce(&mut ParseCache) -> T) -> T {
        let cache = lock(&self.inner.parse_caches).pop();
        let mut cache = cache.unwrap_or_else(|| ParseCache::new(PARSE_CACHE_BYTES));
        let result = render(&mut cache);
        lock(&self.inner.parse_caches).push(cache);
        result
    }

    /// The API resources that the server serves, possibly cached.
    pub(crate) async fn api_resources(&self) -> Result<Arc<ApiResources>, Error> {
        self.discovered_since(Instant::now().checked_sub(DISCOVERY_TTL))
            .await
    }

    /// Like [`Self::api_resources`], but repeats a cached discovery that lacks this kind.
    pub(crate) async fn api_resources_with(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Arc<ApiResources>, Error> {
        let now = Instant::now();
        let resources = self.api_resources().await?;
        if resources.find(api_version, kind).is_some() {
            return Ok(resources);
        }
        self.discovered_since(Some(now)).await
    }

    async fn discovered_since(&self, since: Option<Instant>) -> Result<Arc<ApiResources>, Error> {
        let cached = || {
            let discovery = lock(&self.inner.discovery).clone();
            discovery.filter(|cached| since.is_none_or(|since| cached.started >= since))
        };
        if let Some(cached) = cached() {
            return Ok(cached.resources);
        }
        let _discovering = self.inner.discovering.lock().await;
        if let Some(cached) = cached() {
            return Ok(cached.resources);
        }
        let started = Instant::now();
        let discovered = async { Ok(api_resources::discover(&self.inner.client).await) };
        let resources = within_timeout(discovered)
            .await
            .map_err(Error::Discovery)??;
        let resources = Arc::new(resources);
        *lock(&self.inner.discovery) = Some(Discovery {
            started,
            resources: Arc::clone(&resources),
        });
        Ok(resources)
    }
}

/// Fails if a request has no response within [`REQUEST_TIMEOUT`].
async fn within_timeout<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, kube::Error> {
    let response = tokio::time::timeout(REQUEST_TIMEOUT, request).await;
    response.unwrap_or_else(|_| {
        let seconds = REQUEST_TIMEOUT.as_secs();
        let message = format!("the API server did not respond within {seconds} seconds");
        Err(kube::Error::Service(message.into()))
    })
}

pub(crate) fn unknown_kind(object: &ObjectId) -> Error {
    Error::UnknownKinds(vec![object.clone()])
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) use api_resources::tests::api_resources_for_tests;
