//! The nodes of a cluster, as its API server knows them.

use outrigger_api::cluster::PodNetwork;

use super::control_plane;
use crate::provider::baremetal::work::Work;
use crate::{Effect, StepError};

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) address: String,
    /// The addresses of its pods; empty if it has none.
    pub(super) range: String,
}

/// All nodes, when the machine is one of them and has a range of addresses for its pods.
pub(super) async fn nodes(effect: Effect<'_>) -> Result<(Node, Vec<Node>), StepError> {
    let control_plane = control_plane(effect).await?;
    let address = &effect.machine.spec.access.ip;
    let network = match effect.cluster.spec.pod_network {
        PodNetwork::Routes => "Routes",
        PodNetwork::None => "None",
    };
    let answer = Work::new("list nodes", include_str!("../scripts/nodes.sh"))
        .with("ADDRESS", address)
        .with("NETWORK", network)
        .query(control_plane.as_ref())
        .await?;
    let (own, others): (Vec<Node>, Vec<Node>) = answer
        .lines()
        .filter_map(parse)
        .partition(|node| node.address == *address);
    let own = own.into_iter().next();
    let own =
        own.ok_or_else(|| StepError::Provider(format!("no node has the address {address}")))?;
    Ok((own, others))
}

fn parse(line: &str) -> Option<Node> {
    let mut words = line.split(' ');
    Some(Node {
        name: words.next()?.to_owned(),
        address: words.next()?.to_owned(),
        range: words.next().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_have_no_range_yet() {
        let node = parse("cp1 10.89.0.10 10.244.0.0/24").unwrap();
        assert_eq!((&*node.name, &*node.range), ("cp1", "10.244.0.0/24"));
        assert_eq!(parse("w1 10.89.0.11 ").unwrap().range, "");
        assert_eq!(parse(""), None);
    }
}
