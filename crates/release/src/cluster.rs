//! A cluster: a client, and what the server serves, remembered for a while.

mod follow;
mod kinds;
mod presence;
mod requests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use outrigger_chart::Capabilities;
use outrigger_gotmpl::ParseCache;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::error::Error;
use crate::id::ObjectId;
use crate::record::chart::ChartTexts;

pub(crate) use follow::{Verdict, follow};
pub(crate) use kinds::Kinds;
pub use presence::Presence;
pub(crate) use requests::{Apply, Deleted};

/// How long it is believed what the server serves, if nothing that we do changes it.
const BELIEVED_FOR: Duration = Duration::from_secs(10);

/// Requests that are under way at a time, of all releases together. Each has a connection of its own: more of them only
/// keep the server busy with greetings.
const REQUESTS: usize = 32;

/// Parsed templates that one render may keep for the next.
const PARSED_BYTES: usize = 8 << 20;

/// A cluster. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    known: Mutex<Option<Known>>,
    /// Held by the one that asks the server.
    asking: tokio::sync::Mutex<()>,
    /// Templates that were parsed, for whoever renders next.
    parsed: Mutex<Vec<ParseCache>>,
    /// Rendering takes processors; more at a time than there are only takes memory.
    renders: Semaphore,
    requests: Semaphore,
    presence: Arc<Presence>,
    charts: ChartTexts,
}

#[derive(Clone)]
struct Known {
    since: Instant,
    kinds: Arc<Kinds>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    pub fn new(client: Client) -> Self {
        Self::with_presence(client, Arc::default())
    }

    /// A cluster of which somebody tells what is there.
    pub fn with_presence(client: Client, presence: Arc<Presence>) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                known: Mutex::new(None),
                asking: tokio::sync::Mutex::new(()),
                parsed: Mutex::new(Vec::new()),
                renders: Semaphore::new(renders_at_once()),
                requests: Semaphore::new(REQUESTS),
                presence,
                charts: ChartTexts::default(),
            }),
        }
    }

    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Makes a request when it is its turn.
    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<T, kube::Error> {
        // It is never closed.
        let _turn = self.inner.requests.acquire().await;
        self.inner.client.request(request).await
    }

    pub(crate) fn presence(&self) -> &Presence {
        &self.inner.presence
    }

    /// What charts see as `.Capabilities`.
    pub async fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(self.kinds().await?.capabilities().clone())
    }

    /// Forgets what the server serves, because that may have changed.
    pub fn forget(&self) {
        *lock(&self.inner.known) = None;
    }

    /// The full name of an object as it stands in a manifest: objects of namespaced kinds get the namespace of the
    /// release if they name none.
    pub async fn resolve(&self, object: &ObjectId, namespace: &str) -> Result<ObjectId, Error> {
        let kinds = self.kinds_with(&object.api_version, &object.kind).await?;
        kinds
            .resolve(object, namespace)
            .ok_or_else(|| unknown(object))
    }

    pub(crate) fn charts(&self) -> &ChartTexts {
        &self.inner.charts
    }

    /// Waits for its turn to render.
    pub(crate) async fn turn_to_render(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.inner.renders.acquire().await.ok()
    }

    /// Runs something with a cache of parsed templates.
    pub(crate) fn with_parsed<T>(&self, run: impl FnOnce(&mut ParseCache) -> T) -> T {
        let cache = lock(&self.inner.parsed).pop();
        let mut cache = cache.unwrap_or_else(|| ParseCache::new(PARSED_BYTES));
        let result = run(&mut cache);
        lock(&self.inner.parsed).push(cache);
        result
    }

    /// What the server serves.
    pub(crate) async fn kinds(&self) -> Result<Arc<Kinds>, Error> {
        self.kinds_since(Instant::now().checked_sub(BELIEVED_FOR))
            .await
    }

    /// The same, asked again if this kind is not among it.
    pub(crate) async fn kinds_with(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Arc<Kinds>, Error> {
        let begin = Instant::now();
        let kinds = self.kinds().await?;
        if kinds.find(api_version, kind).is_some() {
            return Ok(kinds);
        }
        self.kinds_since(Some(begin)).await
    }

    async fn kinds_since(&self, since: Option<Instant>) -> Result<Arc<Kinds>, Error> {
        let known = || {
            let known = lock(&self.inner.known).clone();
            known.filter(|known| since.is_none_or(|since| known.since >= since))
        };
        if let Some(known) = known() {
            return Ok(known.kinds);
        }
        let _asking = self.inner.asking.lock().await;
        if let Some(known) = known() {
            return Ok(known.kinds);
        }
        let begin = Instant::now();
        let kinds = Arc::new(kinds::discover(&self.inner.client).await?);
        *lock(&self.inner.known) = Some(Known {
            since: begin,
            kinds: Arc::clone(&kinds),
        });
        Ok(kinds)
    }
}

/// One for each processor, and as many again that wait for answers to `lookup`.
fn renders_at_once() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get() * 2)
}

pub(crate) fn unknown(object: &ObjectId) -> Error {
    Error::UnknownKinds(vec![object.clone()])
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) use kinds::tests::usual as kinds_for_tests;
