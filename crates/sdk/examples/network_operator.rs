//! An operator that does the step `EnsureCilium`: it installs the network of clusters that delegate it.
//!
//! `cargo run -p outrigger-sdk --example network_operator`, with a kubeconfig as for kubectl.

use anyhow::Context as _;
use outrigger_sdk::{Delegation, Operator};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = kube::Client::try_default().await?;
    let shutdown = async { drop(tokio::signal::ctrl_c().await) };
    Ok(operator(client).run(shutdown).await?)
}

pub(crate) fn operator(client: kube::Client) -> Operator {
    Operator::new(client, "network-operator").on("EnsureCilium", install_network)
}

/// Called again after a failure or a crash, so that it must be idempotent.
async fn install_network(step: Delegation) -> anyhow::Result<()> {
    let range = step.cluster.spec.cluster_cidr.as_deref();
    let range = range.context("the cluster has no clusterCIDR")?;
    tracing::info!(
        cluster = step.cluster_name(),
        range,
        "installing the network"
    );
    Ok(())
}
