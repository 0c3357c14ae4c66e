//! `outrigger cluster`: brings up, upgrades and removes clusters on machines.

pub(crate) mod change;
pub(crate) mod file;
pub(crate) mod watch;

mod backup;
mod certificates;
mod create;
mod delete;
pub(crate) mod edit;
mod follow;
mod kubeconfig;
mod list;
mod logs;
mod partial_file;
mod plan;
mod restore;
mod retry;
mod row;
mod show;
mod status;
mod support_bundle;
mod upgrade;
mod view;
mod wait;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use kube::Api;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

use super::plugin::connect::Connection;
use super::plugin::unreachable;
use super::runtime;
use crate::printer::Printer;
use crate::report::hinted;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster plan -f cluster.yaml
  outrigger cluster create -f cluster.yaml --wait --timeout 30m
  outrigger cluster list
  outrigger cluster status cls-1 --watch
  outrigger cluster upgrade cls-1 1.35.0 --wait";

/// Bring up, upgrade and remove clusters on machines
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Write a backup of a cluster to a file
    Backup(backup::Args),
    /// List the certificates of a cluster with their expiry, or renew them
    Certificates(certificates::Args),
    /// Create a cluster from a manifest
    Create(create::Args),
    /// Remove a cluster from its machines
    Delete(delete::Args),
    /// Print the kubeconfig of the administrator
    Kubeconfig(kubeconfig::Args),
    /// List clusters
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Print the output of hooks
    Logs(logs::Args),
    /// Print what creating a cluster would do, without connecting to anything
    Plan(plan::Args),
    /// Restore a cluster from a backup
    Restore(restore::Args),
    /// Try failed steps again
    Retry(retry::Args),
    /// Print the details of a cluster: its spec, machines, conditions, hooks and events
    #[command(visible_alias = "describe", alias = "get")]
    Show(show::Args),
    /// Print clusters, or the steps of one
    Status(status::Args),
    /// Collect what is needed to find out why a cluster does not work
    SupportBundle(support_bundle::Args),
    /// Upgrade a cluster to another version of Kubernetes
    Upgrade(upgrade::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    let is_successful = runtime::run(async {
        match verb {
            Verb::Backup(args) => backup::run(args, printer).await,
            Verb::Certificates(args) => return certificates::run(args, printer).await,
            Verb::Create(args) => create::run(args, printer).await,
            Verb::Delete(args) => delete::run(args, printer).await,
            Verb::Kubeconfig(args) => kubeconfig::run(args, printer).await,
            Verb::List(args) => list::run(args, printer).await,
            Verb::Logs(args) => logs::run(args, printer).await,
            Verb::Plan(args) => plan::run(args, printer),
            Verb::Restore(args) => restore::run(args, printer).await,
            Verb::Retry(args) => retry::run(args, printer).await,
            Verb::Show(args) => show::run(args, printer).await,
            Verb::Status(args) => return status::run(args, printer).await,
            Verb::SupportBundle(args) => support_bundle::run(args, printer).await,
            Verb::Upgrade(args) => upgrade::run(args, printer).await,
        }?;
        Ok(true)
    })?;
    Ok(if is_successful {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn clusters(connection: &Connection) -> Api<Cluster> {
    Api::all(connection.client.clone())
}

/// The machines of a cluster, by name.
async fn machines(connection: &Connection, cluster: &str) -> anyhow::Result<Vec<Machine>> {
    let api: Api<Machine> = Api::all(connection.client.clone());
    let list = api.list(&kube::api::ListParams::default()).await;
    let mut machines = list.map_err(|error| explain(&error, None))?.items;
    machines.retain(|machine| machine.spec.cluster == cluster);
    machines.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    Ok(machines)
}

/// Explains an error of a request for a cluster.
fn explain(error: &kube::Error, cluster: Option<&str>) -> anyhow::Error {
    let kube::Error::Api(status) = error else {
        return unreachable::explain(error);
    };
    match (status.code, cluster) {
        (404, Some(name)) if status.message.contains(&format!("\"{name}\"")) => hinted(
            anyhow::anyhow!("cluster {name} does not exist"),
            Some("outrigger cluster list shows all clusters".to_owned()),
        ),
        (404, _) => hinted(
            anyhow::anyhow!("the Cluster CRD (clusters.outrigger.dev) is not installed"),
            Some("outrigger serve --install-crds installs it".to_owned()),
        ),
        (409, Some(name)) if status.reason == "AlreadyExists" => hinted(
            anyhow::anyhow!("cluster {name} already exists"),
            Some("kubectl apply changes it".to_owned()),
        ),
        _ => anyhow::anyhow!(status.message.clone()),
    }
}
