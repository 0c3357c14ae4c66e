//! Selects machines by name or cluster.

use anyhow::anyhow;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

use super::{explain, get, machines};
use crate::commands::plugin::connect::Connection;
use crate::commands::similar_name;
use crate::report::HintExt as _;

/// The machines that a command works on.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Selection {
    /// Names of machines
    #[arg(value_name = "MACHINE")]
    names: Vec<String>,
    /// All machines of a cluster
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
}

impl Selection {
    pub(super) async fn find(&self, connection: &Connection) -> anyhow::Result<Vec<Machine>> {
        let api = machines(connection);
        let Some(cluster) = &self.cluster else {
            let names = self.names.iter();
            return futures::future::try_join_all(names.map(|name| get(&api, name))).await;
        };
        let list = api.list(&ListParams::default()).await;
        let mut found = list.map_err(|error| explain(&error, None))?.items;
        found.retain(|machine| machine.spec.cluster == *cluster);
        found.sort_by_key(ResourceExt::name_any);
        if found.is_empty() {
            find_cluster(connection, cluster).await?;
            return Err(anyhow!("cluster {cluster} has no machines"))
                .hint("outrigger machine list shows all machines");
        }
        Ok(found)
    }
}

/// The cluster of machines. If it does not exist, the error has the most similar name.
pub(crate) async fn find_cluster(connection: &Connection, name: &str) -> anyhow::Result<Cluster> {
    let clusters: Api<Cluster> = Api::all(connection.client.clone());
    let cluster = clusters.get_opt(name).await;
    if let Some(cluster) = cluster.map_err(|error| explain(&error, None))? {
        return Ok(cluster);
    }
    let error = anyhow!("cluster {name} does not exist");
    Err(similar_name::did_you_mean(&clusters, name, error).await)
}
