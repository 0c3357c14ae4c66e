//! `outrigger cluster upgrade`: sets the version of a cluster.

use anyhow::{anyhow, bail, ensure};
use outrigger_api::annotation::ALLOW_DOWNGRADE;
use outrigger_api::cluster::{Cluster, ClusterType};
use outrigger_api::condition::Condition;
use outrigger_api::machine::Machine;
use outrigger_cluster::{Providers, lifecycle};

use super::change::{ChangeFlags, Outcome};
use super::edit;
use super::wait::{ClusterCondition, refusal};
use crate::commands::plugin::connect::Connection;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster upgrade cls-1 1.35.0 --wait --timeout 30m";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Version of Kubernetes, such as 1.34.1
    #[arg(value_parser = parse_version)]
    version: String,
    /// Also to a version that is older than the installed one
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    change: ChangeFlags,
}

#[derive(Debug, thiserror::Error)]
#[error("expected a version such as 1.34.1")]
pub(crate) struct InvalidVersion;

fn parse_version(text: &str) -> Result<String, InvalidVersion> {
    let version = lifecycle::plain_version(text.trim());
    if lifecycle::is_version(version) {
        Ok(version.to_owned())
    } else {
        Err(InvalidVersion)
    }
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let change = &args.change;
    let connection = change.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    let version = &args.version;
    let is_new = upgrade(&connection, &cluster, version, args.force, change.dry_run).await?;
    let requested = if is_new {
        format!(": upgrade to {version} requested")
    } else {
        format!(": version {version} is set already")
    };
    let outcome = Outcome {
        requested: &requested,
        done: &format!(" has version {version}"),
    };
    let condition = ClusterCondition::Running {
        version: Some(version.clone()),
        retry: None,
    };
    let names = [args.name.clone()];
    change
        .finish::<Cluster>(&connection.client, &names, &condition, outcome, printer)
        .await
}

/// Sets the version. Returns whether it is another one than before.
pub(super) async fn upgrade(
    connection: &Connection,
    cluster: &Cluster,
    version: &str,
    force: bool,
    dry_run: bool,
) -> anyhow::Result<bool> {
    let name = cluster.metadata.name.as_deref().unwrap_or_default();
    ensure!(
        !lifecycle::is_deleted(cluster),
        "cluster {name} is being deleted"
    );
    if cluster.spec.kind != ClusterType::Baremetal {
        bail!("cluster {name} is not Baremetal, and its version is not managed here");
    }
    if lifecycle::desired_version(cluster) == version {
        return Ok(false);
    }
    let mut changed = cluster.clone();
    version.clone_into(&mut changed.spec.version);
    let machines = super::machines(connection, name).await?;
    let machines: Vec<&Machine> = machines.iter().collect();
    let downgrade = lifecycle::refused_downgrade(&changed, &machines);
    if let Some(reason) = downgrade.as_ref().filter(|_| !force) {
        return Err(anyhow!("cluster {name} is not downgraded: {reason}"))
            .hint("--force does it nevertheless; Kubernetes does not support downgrades");
    }
    let provider = Providers::default().find(&changed).ok();
    if let Some(reason) = provider.and_then(|provider| provider.refused_version(&changed)) {
        bail!("cluster {name} is not upgraded: {reason}");
    }
    // Another version does not correct the rest of a spec.
    let is_about_version =
        |refusal: &&Condition| ["Downgrade", "VersionSkew"].contains(&refusal.reason.as_str());
    if let Some(refusal) = refusal(cluster).filter(|it| !is_about_version(it)) {
        return Err(anyhow!(
            "cluster {name} is not upgraded: its spec is refused: {}",
            refusal.message
        ))
        .hint("correct the spec of the cluster first; nothing was changed");
    }
    edit::edit(connection, cluster, dry_run, |cluster| {
        version.clone_into(&mut cluster.spec.version);
        if downgrade.is_some() {
            let annotations = cluster.metadata.annotations.get_or_insert_default();
            annotations.insert(ALLOW_DOWNGRADE.to_owned(), version.to_owned());
        }
        Ok(())
    })
    .await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_parsed_and_loses_its_prefix() {
        assert_eq!(parse_version("v1.35.0").unwrap(), "1.35.0");
        assert_eq!(parse_version("1.35.0-rc.1").unwrap(), "1.35.0-rc.1");
        for text in ["banana", "", "v", "1.35.x", "latest"] {
            assert!(parse_version(text).is_err(), "{text}");
        }
    }
}
