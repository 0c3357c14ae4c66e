//! What a handler gets to know about the step that it does.

use kube::{Client, ResourceExt};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

/// A step that is delegated to an operator, as it was when the attempt began.
#[derive(Clone)]
pub struct Delegation {
    /// The id of the step, such as `EnsureCilium`.
    pub step: &'static str,
    /// The cluster that the step belongs to.
    pub cluster: Cluster,
    /// The machine, if the step is one of machines.
    pub machine: Option<Machine>,
    /// Counts the calls of the handler by this process. Starts at one.
    pub attempt: u32,
    /// When the controller gives up, in RFC 3339.
    pub deadline: Option<String>,
    /// A client of the API server that has the objects.
    pub client: Client,
}

impl Delegation {
    /// The name of the cluster.
    pub fn cluster_name(&self) -> String {
        self.cluster.name_any()
    }
}

impl std::fmt::Debug for Delegation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegation")
            .field("step", &self.step)
            .field("cluster", &self.cluster_name())
            .field("machine", &self.machine.as_ref().map(ResourceExt::name_any))
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
