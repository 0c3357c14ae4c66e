//! Selects machines by name or cluster.

use anyhow::ensure;
use kube::ResourceExt;
use kube::api::ListParams;
use outrigger_api::machine::Machine;

use super::{explain, machines};
use crate::commands::plugin::connect::Connection;
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
            let get = |name: &String| {
                let (api, name) = (api.clone(), name.clone());
                async move {
                    api.get(&name)
                        .await
                        .map_err(|error| explain(&error, Some(&name)))
                }
            };
            return futures::future::try_join_all(self.names.iter().map(get)).await;
        };
        let list = api.list(&ListParams::default()).await;
        let mut found = list.map_err(|error| explain(&error, None))?.items;
        found.retain(|machine| machine.spec.cluster == *cluster);
        found.sort_by_key(ResourceExt::name_any);
        ensure_any(&found, cluster)?;
        Ok(found)
    }
}

fn ensure_any(found: &[Machine], cluster: &str) -> anyhow::Result<()> {
    let check = || {
        ensure!(!found.is_empty(), "cluster {cluster} has no machines");
        Ok(())
    };
    check().hint("outrigger machine list shows all machines")
}
