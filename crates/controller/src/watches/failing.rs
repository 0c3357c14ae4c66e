//! Reports that the watches of a remote cluster fail: what is known about its objects may be outdated.

use tokio::sync::mpsc::Sender;

use crate::error::error_chain;
use crate::objects::Kind;
use crate::release_ref::ClusterRef;
use crate::watch_event::WatchEvent;

/// Consecutive failures that are reported. A single one is a connection that ended.
const REPORTED_FAILURES: u32 = 2;

/// Counts the consecutive failures of one watch, and reports those of remote clusters.
pub(super) struct FailureReporter {
    cluster: ClusterRef,
    kind: Kind,
    server: Option<String>,
    sender: Sender<WatchEvent>,
    failures: u32,
    /// Whether a failure is reported. An earlier watch of the kind may have reported one.
    is_reported: bool,
}

impl FailureReporter {
    pub(super) fn new(
        cluster: ClusterRef,
        kind: Kind,
        server: Option<String>,
        sender: Sender<WatchEvent>,
    ) -> Self {
        Self {
            cluster,
            kind,
            server,
            sender,
            failures: 0,
            is_reported: true,
        }
    }

    pub(super) async fn failed(&mut self, error: &(dyn std::error::Error + Send + Sync + 'static)) {
        self.failures = self.failures.saturating_add(1);
        if self.failures == REPORTED_FAILURES {
            self.is_reported = true;
            self.report(Some(error_chain(error))).await;
        }
    }

    pub(super) async fn succeeded(&mut self) {
        self.failures = 0;
        if self.is_reported {
            self.is_reported = false;
            self.report(None).await;
        }
    }

    async fn report(&self, error: Option<String>) {
        if self.cluster == ClusterRef::Local {
            return;
        }
        let server = self.server.as_deref().unwrap_or("its server");
        let error =
            error.map(|error| format!("{} does not respond at {server}: {error}", self.cluster));
        let event = WatchEvent::WatchFailing(self.cluster.clone(), self.kind.clone(), error);
        // Nothing to report to if the controller has stopped.
        let _ = self.sender.send(event).await;
    }
}
