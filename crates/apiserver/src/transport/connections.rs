//! The open connections and their limits.
//!
//! Connections that have not authenticated share a small part of the capacity: a new one replaces the oldest. So clients
//! that connect and stay silent cannot lock out others. Beyond the limits for all connections and for one address, idle
//! connections are closed first, then new ones are refused.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a connection may take until its first request, and between requests without credentials.
const UNAUTHENTICATED_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an authenticated connection may be idle; that of the real server.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) total: usize,
    pub(super) unauthenticated: usize,
    pub(super) per_address: usize,
}

impl Limits {
    /// The limits of a process that may open as many files.
    pub(super) fn for_files(files: u64) -> Self {
        const RESERVED: u64 = 64;
        const MAX_TOTAL: usize = 20_000;
        const MAX_UNAUTHENTICATED: usize = 512;
        let total = usize::try_from(files.saturating_sub(RESERVED)).unwrap_or(MAX_TOTAL);
        let total = total.clamp(16, MAX_TOTAL);
        Self {
            total,
            unauthenticated: (total / 4).min(MAX_UNAUTHENTICATED),
            per_address: (total / 10).saturating_mul(9),
        }
    }
}

#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    last_id: u64,
    all: BTreeMap<u64, Arc<Connection>>,
    unauthenticated: BTreeSet<u64>,
    by_address: HashMap<IpAddr, usize>,
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u64,
    address: IpAddr,
    is_authenticated: AtomicBool,
    activity: Mutex<Activity>,
    /// Notified when the connection must close, or when its last request ends.
    changed: Notify,
    connections: Arc<Connections>,
}

/// Why a connection must close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseReason {
    Idle,
    /// It makes room for others.
    Evicted,
}

#[derive(Debug)]
struct Activity {
    requests: usize,
    idle_since: Instant,
    is_evicted: bool,
}

/// A request of a connection, from its headers to the end of its response.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<Connection>);

/// Removes a connection from the open ones when it ends.
#[derive(Debug)]
pub(super) struct OpenConnection(pub(super) Arc<Connection>);

impl Connections {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            open: Mutex::default(),
        }
    }

    /// Registers a connection; none if it must be refused.
    pub(super) fn open(self: &Arc<Self>, address: IpAddr) -> Option<OpenConnection> {
        let mut open = self.lock();
        let of_address = open.by_address.get(&address).copied().unwrap_or(0);
        if of_address >= self.limits.per_address && !open.evict(|other| other.address == address) {
            return None;
        }
        if open.all.len() >= self.limits.total && !open.evict(|_| true) {
            return None;
        }
        if open.unauthenticated.len() >= self.limits.unauthenticated {
            let oldest = open.unauthenticated.first().copied();
            oldest.and_then(|id| open.remove(id)).inspect(evict);
        }
        open.last_id = open.last_id.saturating_add(1);
        let connection = Arc::new(Connection {
            id: open.last_id,
            address,
            is_authenticated: AtomicBool::new(false),
            activity: Mutex::new(Activity {
                requests: 0,
                idle_since: Instant::now(),
                is_evicted: false,
            }),
            changed: Notify::new(),
            connections: Arc::clone(self),
        });
        open.insert(Arc::clone(&connection));
        Some(OpenConnection(connection))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn insert(&mut self, connection: Arc<Connection>) {
        let count = self.by_address.entry(connection.address).or_default();
        *count = count.saturating_add(1);
        self.unauthenticated.insert(connection.id);
        self.all.insert(connection.id, connection);
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Connection>> {
        let connection = self.all.remove(&id)?;
        self.unauthenticated.remove(&id);
        if let Some(count) = self.by_address.get_mut(&connection.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_address.remove(&connection.address);
            }
        }
        Some(connection)
    }

    /// Evicts the oldest connection that has not authenticated, otherwise the one that is idle for longest; false if
    /// there is none.
    fn evict(&mut self, may_evict: impl Fn(&Connection) -> bool) -> bool {
        let candidates = || self.all.values().filter(|connection| may_evict(connection));
        let unauthenticated = candidates().find(|connection| !connection.is_authenticated());
        let idle = || {
            let idle =
                candidates().filter_map(|connection| Some((connection.idle_since()?, connection)));
            idle.min_by_key(|(since, _)| *since)
                .map(|(_, connection)| connection)
        };
        let Some(id) = unauthenticated
            .or_else(idle)
            .map(|connection| connection.id)
        else {
            return false;
        };
        self.remove(id).inspect(evict).is_some()
    }
}

fn evict(connection: &Arc<Connection>) {
    connection.activity().is_evicted = true;
    connection.changed.notify_one();
}

impl Connection {
    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_authenticated(&self) -> bool {
        self.is_authenticated.load(Ordering::Relaxed)
    }

    /// Records that a request of the connection had valid credentials.
    pub(crate) fn set_authenticated(&self) {
        if !self.is_authenticated.swap(true, Ordering::Relaxed) {
            self.connections.lock().unauthenticated.remove(&self.id);
        }
    }

    /// None while a request is open.
    fn idle_since(&self) -> Option<Instant> {
        let activity = self.activity();
        (activity.requests == 0).then_some(activity.idle_since)
    }

    pub(super) fn begin_request(self: &Arc<Self>) -> OpenRequest {
        let mut activity = self.activity();
        activity.requests = activity.requests.saturating_add(1);
        drop(activity);
        OpenRequest(Arc::clone(self))
    }

    /// Completes when the connection must close, because it is idle for too long or makes room for others.
    pub(super) async fn must_close(&self) -> CloseReason {
        loop {
            if self.activity().is_evicted {
                return CloseReason::Evicted;
            }
            let timeout = if self.is_authenticated() {
                IDLE_TIMEOUT
            } else {
                UNAUTHENTICATED_TIMEOUT
            };
            let deadline = self
                .idle_since()
                .and_then(|since| since.checked_add(timeout));
            let Some(deadline) = deadline else {
                self.changed.notified().await;
                continue;
            };
            if deadline <= Instant::now() {
                return CloseReason::Idle;
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.requests = activity.requests.saturating_sub(1);
        activity.idle_since = Instant::now();
        drop(activity);
        self.0.changed.notify_one();
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.lock().remove(self.0.id);
    }
}

#[cfg(test)]
mod tests;
