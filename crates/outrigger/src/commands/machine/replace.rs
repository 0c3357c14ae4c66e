//! `outrigger machine replace`: puts another machine in the place of one that does not come back.
//!
//! Nothing is done on the machine that is lost: its node, its member of etcd and its routes are removed from the cluster.

use std::process::ExitCode;

use anyhow::bail;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams};
use outrigger_api::annotation::LOST;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{Machine, MachineAccess, MachineRole, MachineSpec};
use outrigger_cluster::{Providers, machine_name};
use outrigger_node::Address;

use super::add::{add, ensure_free, ensure_valid};
use super::credentials::CredentialFlags;
use super::wait::MachineCondition;
use super::{explain, machines};
use crate::commands::cluster::change::{ChangeFlags, Outcome};
use crate::commands::cluster::edit;
use crate::commands::plugin::connect::Connection;
use crate::commands::plugin::edit::edit_object;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger machine replace cls-1-10-0-0-9 --address root@10.0.0.19 --wait
  outrigger machine replace worker-1 --address 10.0.0.20 --secret default/ssh";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the machine that is lost
    name: String,
    /// Where the other machine is: an IP address
    #[arg(long, value_name = "[USER@]IP[:PORT]")]
    address: Address,
    #[command(flatten)]
    credentials: CredentialFlags,
    /// Public host key [default: the one of the first connection]
    #[arg(long, value_name = "KEY")]
    host_key: Option<String>,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let change = &args.change;
    let connection = change.server.connect().await?;
    let lost = machines(&connection).get(&args.name).await;
    let lost = lost.map_err(|error| explain(&error, Some(&args.name)))?;
    let mut access = replacement(&lost.spec.access, &args.address, args.host_key.clone());
    args.credentials.set(&mut access)?;
    let name = machine_name(&lost.spec.cluster, &access);
    let spec = MachineSpec {
        access,
        ..lost.spec.clone()
    };
    let machine = Machine::new(&name, spec);
    ensure_valid(&machine)?;
    ensure_free(&connection, &machine).await?;
    match lost.spec.role {
        MachineRole::ControlPlane => {
            replace_control_plane(&connection, &lost, &machine, change.dry_run).await?;
        }
        MachineRole::Worker => {
            add(&connection, &machine, change.dry_run).await?;
            mark_lost(&connection, &lost, change.dry_run).await?;
            let parameters = DeleteParams {
                dry_run: change.dry_run,
                ..DeleteParams::default()
            };
            let deleted = machines(&connection).delete(&args.name, &parameters).await;
            deleted.map_err(|error| explain(&error, Some(&args.name)))?;
        }
    }
    let outcome = Outcome {
        requested: &format!(": requested in place of {}", args.name),
        done: &format!(" is running in place of {}", args.name),
    };
    let client = &connection.client;
    change
        .finish::<Machine>(
            client,
            &[name],
            &MachineCondition::CreatedAndRunning,
            outcome,
            printer,
        )
        .await?;
    Ok(ExitCode::SUCCESS)
}

/// How to reach the machine in the place of another one: with the same credentials, labels and taints.
fn replacement(lost: &MachineAccess, address: &Address, host_key: Option<String>) -> MachineAccess {
    MachineAccess {
        ip: address.host().to_owned(),
        port: address.port(),
        username: address.user().to_owned(),
        host_key,
        ..lost.clone()
    }
}

async fn replace_control_plane(
    connection: &Connection,
    lost: &Machine,
    machine: &Machine,
    dry_run: bool,
) -> anyhow::Result<()> {
    let cluster = edit::get(connection, &lost.spec.cluster).await?;
    let address = lost.spec.access.address();
    let mut changed = cluster.clone();
    if !replace(&mut changed, &address, machine) {
        bail!(
            "{} is not in spec.machines of cluster {}",
            address,
            lost.spec.cluster
        );
    }
    let list = machines(connection).list(&ListParams::default()).await;
    let list = list.map_err(|error| explain(&error, None))?.items;
    let of_cluster = list
        .iter()
        .filter(|it| it.spec.cluster == lost.spec.cluster);
    let of_cluster: Vec<&Machine> = of_cluster.collect();
    let provider = Providers::default().find(&changed).ok();
    let refused = provider.and_then(|provider| provider.refused_machines(&changed, &of_cluster));
    if let Some(reason) = refused {
        bail!("machine {} is not replaced: {reason}", lost.name_any());
    }
    mark_lost(connection, lost, dry_run).await?;
    edit::edit(connection, &cluster, dry_run, |cluster| {
        replace(cluster, &address, machine);
        Ok(())
    })
    .await
}

/// Puts a machine in the place of the one with an address. Returns whether there is one.
fn replace(cluster: &mut Cluster, address: &str, machine: &Machine) -> bool {
    let mut listed = cluster.spec.machines.iter_mut();
    let Some(access) = listed.find(|access| access.address() == address) else {
        return false;
    };
    *access = machine.spec.access.clone();
    true
}

async fn mark_lost(connection: &Connection, lost: &Machine, dry_run: bool) -> anyhow::Result<()> {
    let api = machines(connection);
    let mark = |machine: &mut Machine| {
        let annotations = machine.metadata.annotations.get_or_insert_default();
        annotations.insert(LOST.to_owned(), "true".to_owned());
        Ok(())
    };
    edit_object(&api, &lost.name_any(), dry_run, mark, explain).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_takes_the_place_and_the_credentials_of_another_one() {
        let mut cluster: Cluster = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
            "spec": {"version": "1.36.4", "machines": [
                {"ip": "10.0.0.1", "password": "eA==", "hostKey": "old"}, {"ip": "10.0.0.2"},
            ]},
        }))
        .unwrap();
        let lost = cluster.spec.machines[0].clone();
        let access = replacement(&lost, &"root@10.0.0.9".parse().unwrap(), None);
        let spec = MachineSpec {
            access,
            ..MachineSpec::default()
        };
        let machine = Machine::new("new", spec);
        assert!(!replace(&mut cluster, "10.0.0.3:22", &machine));
        assert!(replace(&mut cluster, &lost.address(), &machine));
        let [first, second] = &cluster.spec.machines[..] else {
            panic!("there are two machines");
        };
        assert_eq!((&*first.ip, &*second.ip), ("10.0.0.9", "10.0.0.2"));
        assert_eq!(first.password, lost.password);
        assert_eq!(first.host_key, None);
    }
}
