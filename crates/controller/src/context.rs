//! What every worker has at hand.

use std::sync::{PoisonError, RwLock};

use kube::Client;
use tokio::sync::mpsc::Sender;

use crate::Options;
use crate::events::Teller;
use crate::news::News;
use crate::sources::Sources;
use crate::target::Targets;

/// What every worker has at hand.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) targets: Targets,
    pub(crate) sources: Sources,
    pub(crate) teller: Teller,
    pub(crate) news: Sender<News>,
    /// The registry that the defaults of the cluster name.
    cluster_registry: RwLock<Option<String>>,
}

impl Context {
    pub(crate) fn new(
        client: Client,
        options: Options,
        sources: Sources,
        news: Sender<News>,
    ) -> Self {
        Self {
            targets: Targets::new(client.clone()),
            teller: Teller::start(client.clone()),
            cluster_registry: RwLock::default(),
            client,
            options,
            sources,
            news,
        }
    }

    /// The registry of plugins that name none: what the controller was told, else what the cluster says.
    pub(crate) fn default_registry(&self) -> Option<String> {
        let own = self.options.image_registry.clone();
        own.or_else(|| {
            let registry = self.cluster_registry.read();
            registry.unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// True if it is another one than before.
    pub(crate) fn set_cluster_registry(&self, registry: Option<String>) -> bool {
        let known = self.cluster_registry.write();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let is_new = *known != registry;
        *known = registry;
        is_new
    }
}
