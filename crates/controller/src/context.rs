//! What all reconcile tasks share.

use std::sync::{Arc, PoisonError, RwLock};

use kube::Client;
use outrigger_api::plugin::Plugin;
use outrigger_flow::Identity;
use tokio::sync::mpsc::Sender;

use crate::clusters::Identities;
use crate::events::EventRecorder;
use crate::lineage::Reservations;
use crate::redact::SecretCache;
use crate::resolution::Resolutions;
use crate::sources::Sources;
use crate::target::Targets;
use crate::watch_event::WatchEvent;
use crate::{ClusterOptions, Options};

pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) targets: Targets,
    pub(crate) sources: Sources,
    pub(crate) recorder: EventRecorder,
    pub(crate) resolutions: Resolutions,
    pub(crate) reservations: Reservations,
    pub(crate) secrets: SecretCache,
    pub(crate) identities: Identities,
    /// To the controller loop.
    pub(crate) events: Sender<WatchEvent>,
    /// The image registry in the cluster-wide defaults.
    cluster_registry: RwLock<Option<String>>,
    /// Identifies this controller as the runner of flows.
    holder: String,
}

impl Context {
    pub(crate) fn new(
        client: Client,
        options: Options,
        sources: Sources,
        events: Sender<WatchEvent>,
    ) -> Self {
        Self {
            targets: Targets::new(
                client.clone(),
                Arc::clone(&options.metrics),
                options.trust.clone(),
            ),
            recorder: EventRecorder::start(client.clone()),
            resolutions: Resolutions::default(),
            reservations: Reservations::default(),
            secrets: SecretCache::default(),
            identities: Identities::default(),
            cluster_registry: RwLock::default(),
            holder: format!("outrigger-{:016x}", getrandom::u64().unwrap_or_default()),
            client,
            options,
            sources,
            events,
        }
    }

    /// The identity of this controller as the runner of flows. With leader election, there is no other.
    pub(crate) fn identity(&self, options: &ClusterOptions) -> Identity {
        Identity {
            holder: self.holder.clone(),
            lease: options.lease,
            is_exclusive: self.options.leader_election.is_some(),
        }
    }

    /// The image registry of a plugin: its own, else that of the controller's options, else the cluster-wide default.
    pub(crate) fn image_registry(&self, plugin: &Plugin) -> Option<String> {
        let own = plugin.spec.image_registry.clone();
        own.filter(|registry| !registry.is_empty())
            .or_else(|| self.options.image_registry.clone())
            .or_else(|| {
                let registry = self.cluster_registry.read();
                registry.unwrap_or_else(PoisonError::into_inner).clone()
            })
    }

    /// Sets the cluster-wide default registry. Returns whether it changed.
    pub(crate) fn set_cluster_registry(&self, registry: Option<String>) -> bool {
        let current = self.cluster_registry.write();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        let has_changed = *current != registry;
        *current = registry;
        has_changed
    }
}
