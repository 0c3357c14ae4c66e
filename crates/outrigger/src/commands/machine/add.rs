//! `outrigger machine add`: adds a worker to a cluster.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use kube::ResourceExt as _;
use kube::api::ListParams;
use outrigger_api::machine::{Machine, MachineAccess, MachineRole, MachineSpec, validate};
use outrigger_cluster::lifecycle;
use outrigger_node::Address;

use super::credentials::CredentialFlags;
use super::select::find_cluster;
use super::wait::MachineCondition;
use super::{explain, machines};
use crate::commands::cluster::change::{ChangeFlags, Outcome};
use crate::commands::plugin::connect::Connection;
use crate::commands::plugin::edit::parameters;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger machine add worker-1 --cluster cls-1 --address root@10.0.0.9 --secret default/ssh --wait
  outrigger machine add worker-1 --cluster cls-1 --address 10.0.0.9:2222 --private-key ~/.ssh/id_ed25519";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the machine
    name: String,
    /// Name of the cluster
    #[arg(long, value_name = "NAME")]
    cluster: String,
    /// Where it is: an IP address
    #[arg(long, value_name = "[USER@]IP[:PORT]")]
    address: Address,
    #[command(flatten)]
    credentials: CredentialFlags,
    /// Public host key [default: the one of the first connection]
    #[arg(long, value_name = "KEY")]
    host_key: Option<String>,
    /// Label of the node; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let change = &args.change;
    let machine = machine(args)?;
    ensure_valid(&machine)?;
    let connection = change.server.connect().await?;
    add(&connection, &machine, change.dry_run).await?;
    let outcome = Outcome {
        requested: " added",
        done: " is running",
    };
    let (names, condition) = ([args.name.clone()], MachineCondition::Running);
    let client = &connection.client;
    change
        .finish::<Machine>(client, &names, &condition, outcome, printer)
        .await?;
    Ok(ExitCode::SUCCESS)
}

/// Rejects what the controller would reject.
pub(crate) fn ensure_valid(machine: &Machine) -> anyhow::Result<()> {
    let mut errors = validate(machine);
    errors.extend(outrigger_cluster::check_access(
        &machine.spec.access,
        "spec",
    ));
    if errors.is_empty() {
        return Ok(());
    }
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    bail!("the machine is invalid: {}", errors.join("; "))
}

/// Creates a machine, unless the controller would refuse it.
pub(crate) async fn add(
    connection: &Connection,
    machine: &Machine,
    dry_run: bool,
) -> anyhow::Result<()> {
    let (client, name) = (&connection.client, machine.name_any());
    let cluster = find_cluster(connection, &machine.spec.cluster).await?;
    if lifecycle::is_deleted(&cluster) {
        bail!("cluster {} is being deleted", machine.spec.cluster);
    }
    ensure_free(connection, machine).await?;
    // Reads the Secret, which the controller would miss at each attempt.
    match outrigger_controller::machine_login(client, machine).await {
        Ok(login) => {
            let errors = outrigger_cluster::check_access(&login.access, "the Secret");
            let has_secret = machine.spec.access.secret_ref.is_some();
            if let Some(error) = errors.first().filter(|_| has_secret) {
                bail!("{error}");
            }
        }
        // The user may not be allowed to read what the controller may.
        Err(message) if message.starts_with("failed to read") => note(&message),
        Err(message) => bail!(message),
    }
    let created = machines(connection)
        .create(&parameters(dry_run), machine)
        .await;
    created.map_err(|error| explain(&error, Some(&name)))?;
    Ok(())
}

/// An address belongs to one machine.
pub(super) async fn ensure_free(connection: &Connection, machine: &Machine) -> anyhow::Result<()> {
    let list = machines(connection).list(&ListParams::default()).await;
    let list = list.map_err(|error| explain(&error, None))?;
    let address = machine.spec.access.address();
    let name = machine.name_any();
    let mut others = list.items.iter();
    let other =
        others.find(|other| other.spec.access.address() == address && other.name_any() != name);
    if let Some(other) = other {
        let (name, cluster) = (other.name_any(), &other.spec.cluster);
        bail!("{address} belongs to machine {name} of cluster {cluster}");
    }
    Ok(())
}

fn machine(args: &Args) -> anyhow::Result<Machine> {
    let mut access = MachineAccess {
        ip: args.address.host().to_owned(),
        port: args.address.port(),
        username: args.address.user().to_owned(),
        host_key: args.host_key.clone(),
        labels: labels(&args.label)?,
        ..MachineAccess::default()
    };
    if !args.credentials.set(&mut access)? {
        return Err(anyhow::anyhow!(
            "there are no credentials for {}",
            args.address
        ))
        .hint("specify --secret, --private-key or --password-stdin");
    }
    let spec = MachineSpec {
        cluster: args.cluster.clone(),
        role: MachineRole::Worker,
        access,
    };
    Ok(Machine::new(&args.name, spec))
}

fn labels(labels: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let parse = |label: &String| {
        let (key, value) = label
            .split_once('=')
            .with_context(|| format!("label {label:?} is not KEY=VALUE"))?;
        Ok((key.to_owned(), value.to_owned()))
    };
    labels.iter().map(parse).collect()
}
