//! `outrigger machine add`: adds a worker to a cluster.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use kube::Api;
use kube::api::PostParams;
use outrigger_api::RedactedBytes;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{Machine, MachineAccess, MachineRole, MachineSpec, validate};
use outrigger_api::repository::SecretReference;
use outrigger_node::Address;

use super::{explain, machines};
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the machine
    name: String,
    /// Name of the cluster
    #[arg(long, value_name = "NAME")]
    cluster: String,
    /// Where it is: an IP address
    #[arg(long, value_name = "[USER@]IP[:PORT]")]
    address: Address,
    /// Secret with `password`, or `privateKey` and optionally `passPhrase`
    #[arg(long, value_name = "NAMESPACE/NAME", group = "credentials")]
    secret: Option<String>,
    /// Private key, which is stored in the object
    #[arg(long, value_name = "FILE", group = "credentials")]
    private_key: Option<PathBuf>,
    /// Read the password from stdin; it is stored in the object
    #[arg(long, group = "credentials")]
    password_stdin: bool,
    /// Public host key [default: the one of the first connection]
    #[arg(long, value_name = "KEY")]
    host_key: Option<String>,
    /// Label of the node; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// Only check the machine and ask the server
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    flags: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let machine = machine(args)?;
    let errors = validate(&machine);
    if !errors.is_empty() {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        bail!("the machine is invalid: {}", errors.join("; "));
    }
    let connection = args.flags.connect().await?;
    let clusters: Api<Cluster> = Api::all(connection.client.clone());
    let cluster = clusters.get_opt(&args.cluster).await;
    if cluster.map_err(|error| explain(&error, None))?.is_none() {
        bail!("cluster {} does not exist", args.cluster);
    }
    let parameters = PostParams {
        dry_run: args.dry_run,
        field_manager: Some("outrigger".to_owned()),
    };
    let created = machines(&connection).create(&parameters, &machine).await;
    created.map_err(|error| explain(&error, Some(&args.name)))?;
    printer.line(&format!("machine {} added", args.name))?;
    Ok(ExitCode::SUCCESS)
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
    if let Some(secret) = &args.secret {
        let (namespace, name) = secret
            .split_once('/')
            .with_context(|| format!("{secret:?} is not NAMESPACE/NAME"))?;
        access.secret_ref = Some(SecretReference {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        });
    } else if let Some(path) = &args.private_key {
        access.private_key = Some(RedactedBytes::new(fs_err::read(path)?));
    } else if args.password_stdin {
        access.password = Some(read_password()?);
    } else {
        return Err(anyhow::anyhow!(
            "there are no credentials for {}",
            args.address
        ))
        .hint("specify --secret, --private-key or --password-stdin");
    }
    if access.secret_ref.is_none() {
        note("everybody who may read the machine can read its credentials; --secret avoids that");
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

fn read_password() -> anyhow::Result<RedactedBytes> {
    let mut password = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut password);
    read.context("failed to read the password from stdin")?;
    Ok(RedactedBytes::new(password.trim_end_matches(['\r', '\n'])))
}
