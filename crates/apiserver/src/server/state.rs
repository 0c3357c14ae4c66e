//! The state that all requests share.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jiff::Timestamp;
use outrigger_builtin::kinds::Registry;
use outrigger_builtin::prepare::service::Pool;
use outrigger_store::Store;
use tokio::sync::watch;

use super::expensive::ExpensiveThreads;
use super::metrics::Metrics;
use super::non_resource::Documents;
use super::parsed_objects::ParsedObjects;
use super::policies::PolicyCache;
use super::request_body::BodyMemory;
use super::response_memory::ResponseMemory;
use super::{Address, SchemaCache, Simulation};
use crate::auth::{Auth, Credentials};
use crate::flow_control::FlowControl;
use crate::transport::ServerCredentials;

/// The real server's defaults for `--service-cluster-ip-range` and `--service-node-port-range`.
const NETWORK: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 96, 0, 0), 16);
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) auth: Auth,
    pub(crate) credentials: ServerCredentials,
    pub(crate) schemas: SchemaCache,
    pub(crate) documents: Documents,
    pub(crate) metrics: Metrics,
    pub(crate) body_memory: BodyMemory,
    pub(super) response_memory: ResponseMemory,
    pub(crate) flow_control: FlowControl,
    pub(super) expensive: ExpensiveThreads,
    /// Held while a backup is written.
    pub(crate) backups: tokio::sync::Mutex<()>,
    /// Held while a definition is written, accepted and served.
    pub(crate) definitions: tokio::sync::Mutex<()>,
    /// Notified when a definition is served, changed or no longer served.
    pub(crate) served_kinds_changed: tokio::sync::Notify,
    /// Held while an object is charged to a quota.
    pub(crate) quotas: tokio::sync::Mutex<()>,
    pub(crate) policies: PolicyCache,
    pub(crate) parsed: ParsedObjects,
    pub(crate) closed: watch::Receiver<bool>,
    pub(crate) address: Address,
    started: OnceLock<u64>,
    simulation: OnceLock<Arc<dyn Simulation>>,
    services: Mutex<Pool>,
    now: fn() -> Timestamp,
}

impl State {
    pub(crate) fn new(
        store: Store,
        auth: Credentials,
        credentials: ServerCredentials,
        now: fn() -> Timestamp,
        closed: watch::Receiver<bool>,
    ) -> Self {
        Self {
            auth: Auth::with_clock(store.clone(), auth, now),
            store,
            registry: Registry::default(),
            credentials,
            schemas: SchemaCache::default(),
            documents: Documents::default(),
            metrics: Metrics::default(),
            body_memory: BodyMemory::default(),
            response_memory: ResponseMemory::default(),
            flow_control: FlowControl::default(),
            expensive: ExpensiveThreads::default(),
            backups: tokio::sync::Mutex::new(()),
            definitions: tokio::sync::Mutex::new(()),
            served_kinds_changed: tokio::sync::Notify::new(),
            quotas: tokio::sync::Mutex::new(()),
            policies: PolicyCache::default(),
            parsed: ParsedObjects::default(),
            closed,
            address: Address::new(),
            started: OnceLock::new(),
            simulation: OnceLock::new(),
            services: Mutex::new(Pool::new(NETWORK.0, NETWORK.1, NODE_PORTS)),
            now,
        }
    }

    /// Records that the server is ready.
    pub(crate) fn start(&self) {
        let _ = self.started.set(self.store.revision());
    }

    /// The revision at which the server became ready.
    pub(crate) fn started_revision(&self) -> u64 {
        self.started.get().copied().unwrap_or_default()
    }

    /// Attaches simulated workloads; the first simulation stays.
    pub(crate) fn attach_simulation(&self, simulation: Arc<dyn Simulation>) {
        let _ = self.simulation.set(simulation);
    }

    pub(crate) fn simulation(&self) -> Option<&dyn Simulation> {
        self.simulation.get().map(AsRef::as_ref)
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// The current time in the format of `metav1.Time`.
    pub(crate) fn now_text(&self) -> String {
        time_text(self.now())
    }

    pub(crate) fn services(&self) -> MutexGuard<'_, Pool> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A time in the format of `metav1.Time`.
pub(crate) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
