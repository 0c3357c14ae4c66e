//! Limits that all requests share: how many run at once, how many of them to one host, how many bytes they hold, and how
//! many bytes are parsed at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Url;

use crate::wait::{Turn, Wait, WaitObserver};

/// Requests at a time.
const MAX_REQUESTS: usize = 64;

/// Requests to one host at a time, so that a host that does not answer cannot use all of [`MAX_REQUESTS`].
const MAX_REQUESTS_PER_HOST: usize = 8;

/// The bytes of a response that do not count toward [`MAX_BYTES`], so that small responses are never rejected.
const FREE_BYTES: u64 = 1 << 20;

/// The bytes of all responses that are being read or parsed. Enough for the largest index.
const MAX_BYTES: u64 = 160 << 20;

/// The bytes of all indexes and archives that are parsed at a time, in KiB. A larger one is parsed alone. Parsed, they take
/// several times as much memory.
const MAX_PARSED_KIB: u32 = 16 << 10;

/// What an archive counts at least, in KiB: it may be small because it is compressed.
const MIN_PARSED_KIB: u32 = 2 << 10;

/// The requests that have their slots, by origin.
type Running = Arc<Mutex<HashMap<String, usize>>>;

#[derive(Debug)]
pub(crate) struct Limits {
    requests: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
    running: Running,
    bytes: Arc<AtomicU64>,
    parsed: Arc<Semaphore>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            hosts: Mutex::default(),
            running: Running::default(),
            bytes: Arc::default(),
            parsed: Arc::new(Semaphore::new(MAX_PARSED_KIB as usize)),
        }
    }
}

/// Permission for one request, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    running: Running,
    origin: String,
    _host: Option<OwnedSemaphorePermit>,
    _request: Option<OwnedSemaphorePermit>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.origin) {
            *count -= 1;
        }
        running.retain(|_, count| *count > 0);
    }
}

impl Limits {
    /// Waits until a request to the host of the URL may be sent.
    pub(crate) async fn acquire(&self, url: &Url, observer: &WaitObserver) -> Permit {
        let origin = url.origin().ascii_serialization();
        let wait = || observer.report(|| Wait::Turn(self.turn(&origin)));
        // The host comes first: a request that waits for its host blocks no other.
        let host = slot(self.host(&origin), wait).await;
        let request = slot(Arc::clone(&self.requests), wait).await;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running.entry(origin.clone()).or_default() += 1;
        drop(running);
        observer.report(|| Wait::Response);
        Permit {
            running: Arc::clone(&self.running),
            origin,
            _host: host,
            _request: request,
        }
    }

    fn host(&self, origin: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.retain(|_, host| Arc::strong_count(host) > 1);
        let new = || Arc::new(Semaphore::new(MAX_REQUESTS_PER_HOST));
        Arc::clone(hosts.entry(origin.to_owned()).or_insert_with(new))
    }

    /// The requests that a request to this origin waits for.
    fn turn(&self, origin: &str) -> Turn {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get(origin)
            && *count == MAX_REQUESTS_PER_HOST
        {
            return Turn {
                running: vec![(origin.to_owned(), *count)],
            };
        }
        let running = running.iter();
        let mut running: Vec<(String, usize)> = running
            .map(|(origin, count)| (origin.clone(), *count))
            .collect();
        running.sort_by(|(a, count_a), (b, count_b)| count_b.cmp(count_a).then(a.cmp(b)));
        Turn { running }
    }

    /// Waits until this many bytes may be parsed. The permit is held until they are.
    pub(crate) async fn parse(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let size = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
        let size = size.clamp(MIN_PARSED_KIB, MAX_PARSED_KIB);
        // The semaphore is never closed.
        Arc::clone(&self.parsed).acquire_many_owned(size).await.ok()
    }

    pub(crate) fn body(&self) -> BodyBytes {
        BodyBytes {
            total: Arc::clone(&self.bytes),
            received: 0,
            counted: 0,
        }
    }
}

/// Takes a slot, at once or after `wait` was called. The semaphores are never closed.
async fn slot(slots: Arc<Semaphore>, wait: impl Fn()) -> Option<OwnedSemaphorePermit> {
    if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
        return Some(slot);
    }
    wait();
    slots.acquire_owned().await.ok()
}

/// The bytes of one response, counted until it is dropped.
#[derive(Debug)]
pub(crate) struct BodyBytes {
    total: Arc<AtomicU64>,
    received: u64,
    counted: u64,
}

impl BodyBytes {
    /// Counts received bytes. Returns false if all responses together are too large.
    pub(crate) fn add(&mut self, bytes: u64) -> bool {
        self.received += bytes;
        let added = self.received.saturating_sub(FREE_BYTES) - self.counted;
        self.counted += added;
        added == 0 || self.total.fetch_add(added, Ordering::Relaxed) + added <= MAX_BYTES
    }
}

impl Drop for BodyBytes {
    fn drop(&mut self) {
        self.total.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_that_does_not_answer_leaves_room_for_others() {
        let (limits, observer) = (Limits::default(), WaitObserver::default());
        let silent = Url::parse("http://silent/index.yaml").unwrap();
        let mut permits = Vec::new();
        for _ in 0..MAX_REQUESTS_PER_HOST {
            permits.push(limits.acquire(&silent, &observer).await);
        }
        let next = tokio::time::timeout(
            std::time::Duration::ZERO,
            limits.acquire(&silent, &observer),
        );
        assert!(next.await.is_err());
        let other = Url::parse("http://other/index.yaml").unwrap();
        limits.acquire(&other, &observer).await;
        drop(permits);
        limits.acquire(&silent, &observer).await;
        assert_eq!(limits.hosts.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_request_that_waits_for_its_turn_reports_what_it_waits_for() {
        let limits = Limits::default();
        let reported = Arc::new(Mutex::new(Vec::new()));
        let observer = WaitObserver::new({
            let reported = Arc::clone(&reported);
            move |wait| reported.lock().unwrap().push(wait)
        });
        let reports = || std::mem::take(&mut *reported.lock().unwrap());
        let url = |host: usize| Url::parse(&format!("http://host-{host}/index.yaml")).unwrap();
        let mut permits = Vec::new();
        for request in 0..MAX_REQUESTS {
            let host = url(request / MAX_REQUESTS_PER_HOST);
            permits.push(limits.acquire(&host, &observer).await);
            assert_eq!(reports(), [Wait::Response]);
        }
        // The host is busy.
        let busy = url(0);
        let mut next = std::pin::pin!(limits.acquire(&busy, &observer));
        assert!(is_pending(next.as_mut()).await);
        let running = vec![("http://host-0".to_owned(), MAX_REQUESTS_PER_HOST)];
        assert_eq!(reports(), [Wait::Turn(Turn { running })]);
        // All slots are taken by others.
        let other = url(MAX_REQUESTS);
        let mut other = std::pin::pin!(limits.acquire(&other, &observer));
        assert!(is_pending(other.as_mut()).await);
        let waits = reports();
        let [Wait::Turn(turn)] = waits.as_slice() else {
            panic!("{waits:?}");
        };
        assert!(
            turn.to_string()
                .starts_with("64 requests to http://host-0 (8), ")
        );
        drop(permits);
        next.await;
        other.await;
        assert_eq!(reports(), [Wait::Response, Wait::Response]);
        assert!(limits.running.lock().unwrap().is_empty());
    }

    /// Whether a future is pending after it was polled.
    async fn is_pending(future: impl Future) -> bool {
        tokio::time::timeout(std::time::Duration::ZERO, future)
            .await
            .is_err()
    }

    #[tokio::test]
    async fn a_large_index_is_parsed_alone_and_small_ones_together() {
        let limits = Limits::default();
        let large = limits.parse(usize::MAX).await;
        let next = tokio::time::timeout(std::time::Duration::ZERO, limits.parse(1));
        assert!(next.await.is_err());
        drop(large);
        let mut permits = Vec::new();
        for _ in 0..MAX_PARSED_KIB / MIN_PARSED_KIB {
            permits.push(limits.parse(1).await);
        }
        let next = tokio::time::timeout(std::time::Duration::ZERO, limits.parse(1));
        assert!(next.await.is_err());
        drop(permits);
    }

    #[test]
    fn endless_responses_are_rejected_together_and_small_ones_never() {
        let limits = Limits::default();
        let (mut first, mut second) = (limits.body(), limits.body());
        assert!(first.add(MAX_BYTES));
        assert!(!second.add(3 * FREE_BYTES));
        assert!(limits.body().add(FREE_BYTES));
        drop((first, second));
        assert!(limits.body().add(MAX_BYTES));
        assert_eq!(limits.bytes.load(Ordering::Relaxed), 0);
    }
}
