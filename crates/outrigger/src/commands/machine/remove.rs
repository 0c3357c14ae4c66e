//! `outrigger machine remove`: removes a worker from its cluster.

use std::process::ExitCode;

use anyhow::anyhow;
use kube::api::DeleteParams;
use outrigger_api::machine::{Machine, MachineRole};

use super::wait::MachineCondition;
use super::{explain, get, machines};
use crate::commands::cluster::change::{ChangeFlags, Outcome};
use crate::commands::plugin::connect::Connection;
use crate::commands::plugin::edit::force_removal;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger machine remove worker-1 --wait
  outrigger machine remove worker-1 --force    Do not wait for a machine that cannot be reached";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the machine
    name: String,
    /// Remove the object even if the machine cannot be cleaned up
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let change = &args.change;
    let connection = change.server.connect().await?;
    remove(&connection, &args.name, args.force, change.dry_run).await?;
    let outcome = Outcome {
        requested: ": removal requested",
        done: " removed",
    };
    let (names, condition) = ([args.name.clone()], MachineCondition::Deleted);
    let client = &connection.client;
    change
        .finish::<Machine>(client, &names, &condition, outcome, printer)
        .await?;
    Ok(ExitCode::SUCCESS)
}

async fn remove(
    connection: &Connection,
    name: &str,
    force: bool,
    dry_run: bool,
) -> anyhow::Result<()> {
    let api = machines(connection);
    let machine = get(&api, name).await?;
    if machine.spec.role == MachineRole::ControlPlane {
        let cluster = machine.spec.cluster;
        let error = anyhow!("machine {name} is in the control plane of cluster {cluster}");
        return Err(error).hint(format!("remove it from spec.machines of cluster {cluster}"));
    }
    if force {
        force_removal(&api, name, dry_run, explain).await?;
    }
    let parameters = DeleteParams {
        dry_run,
        ..DeleteParams::default()
    };
    let deleted = api.delete(name, &parameters).await;
    deleted.map_err(|error| explain(&error, Some(name)))?;
    Ok(())
}
