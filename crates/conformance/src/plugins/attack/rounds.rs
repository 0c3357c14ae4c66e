//! Hundreds of plugins are installed and removed again and again: the memory of the controller comes back.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::plugins::cluster::Cluster;
use crate::process::Controller;
use crate::procfs;

const PLUGINS: usize = 300;
const ROUNDS: usize = 6;
const TIMEOUT: Duration = Duration::from_mins(3);

/// The memory that later rounds may add to that of the second one, in MiB.
const MAX_GROWTH: u64 = 32;

pub(super) async fn attack(cluster: &Cluster, controller: &Controller) -> anyhow::Result<String> {
    let plugins = &cluster.plugins;
    let names: Vec<String> = (0..PLUGINS)
        .map(|number| format!("many-{number}"))
        .collect();
    let mut sizes = Vec::new();
    for _ in 0..ROUNDS {
        let created = names.iter().map(|name| plugins.plugin(name, json!({})));
        let created = created.collect::<anyhow::Result<Vec<_>>>()?;
        plugins.create(created).await?;
        plugins.wait_until_reconciled(PLUGINS, TIMEOUT).await?;
        plugins.delete(names.clone()).await?;
        plugins.wait_until_reconciled(0, TIMEOUT).await?;
        sizes.push(procfs::resident_memory(&[controller.pid()?])? >> 20);
    }
    let growth = sizes[ROUNDS - 1].saturating_sub(sizes[1]);
    ensure!(
        growth <= MAX_GROWTH,
        "memory in MiB after each round: {sizes:?}"
    );
    Ok(format!("memory in MiB after each round: {sizes:?}"))
}
