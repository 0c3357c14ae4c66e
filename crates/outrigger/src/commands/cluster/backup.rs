//! `outrigger cluster backup`: a snapshot of etcd with the keys of the cluster, in a file.

use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use jiff::Timestamp;
use kube::{Client, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_cluster::backup::{self, Backup, Description};
use outrigger_cluster::{Ssh, lifecycle};
use outrigger_node::{Chunk, Command};

use super::certificates::ensure_installed;
use super::partial_file::{PartialFile, ensure_new};
use super::{edit, machines};
use crate::commands::machine::connect::connect;
use crate::commands::plugin::connect::ServerFlags;
use crate::commands::runtime::shutdown_signal;
use crate::commands::size::Size;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger cluster backup cls-1 --to cls-1.backup

The file has a snapshot of etcd, with all Secrets of the cluster, and the private keys of its CAs: whoever can read it can do
everything in the cluster. Files of persistent volumes are not in it.";

/// How long a machine may take to make and to send a backup.
const TIMEOUT: Duration = Duration::from_mins(30);
/// How much of the output is kept for messages.
const CAPTURE: usize = 4 * 1024;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// File to write, which only its owner can read
    #[arg(long = "to", value_name = "FILE")]
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    ensure_new(&args.file, args.overwrite)?;
    let connection = args.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    ensure_installed(&cluster)?;
    let machines = machines(&connection, &args.name).await?;
    let machines: Vec<&Machine> = machines.iter().collect();
    let machines = lifecycle::control_planes(&cluster, &machines);
    let interrupted = shutdown_signal(None)?;
    let backup = tokio::select! {
        backup = take(&connection.client, &cluster, &machines, &args.file) => backup?,
        () = interrupted => bail!("interrupted; nothing was written"),
    };
    let Description {
        machine, version, ..
    } = &backup.description;
    let (size, file) = (Size::from(backup.snapshot), args.file.display());
    printer.line(&format!(
        "cluster {} with Kubernetes {version}: snapshot of {size} from {machine} in {file}",
        args.name
    ))
}

/// Takes a backup on the first machine that can make one.
async fn take(
    client: &Client,
    cluster: &Cluster,
    machines: &[&Machine],
    path: &Path,
) -> anyhow::Result<Backup> {
    let ssh = Ssh::default();
    let mut failures = Vec::new();
    for machine in machines {
        let name = machine.name_any();
        let mut partial = PartialFile::create(path)?;
        let taken = take_on(client, &ssh, cluster, machine, &mut partial.file).await;
        match taken.with_context(|| format!("machine {name}")) {
            Ok(backup) => {
                partial.keep()?;
                return Ok(backup);
            }
            Err(error) => {
                note(&format!("{error:#}"));
                failures.push(name);
            }
        }
    }
    ensure!(
        !failures.is_empty(),
        "the cluster has no machine of the control plane"
    );
    Err(anyhow!("none of the control planes has made a backup"))
        .hint("one of them has to answer, with a member of etcd that is healthy")
}

async fn take_on(
    client: &Client,
    ssh: &Ssh,
    cluster: &Cluster,
    machine: &Machine,
    file: &mut fs_err::File,
) -> anyhow::Result<Backup> {
    let description = Description::new(cluster, &machine.name_any(), Timestamp::now());
    let command = Command::shell(backup::take(cluster, &description));
    let command = command.timeout(TIMEOUT).capture(CAPTURE);
    let machine = connect(client, ssh, machine).await?;
    let mut written = Ok(());
    let output = machine
        .run_streamed(&command, |chunk| {
            if let (Chunk::Stdout(data), Ok(())) = (chunk, &written) {
                written = file.write_all(data);
            }
        })
        .await?;
    let errors = output.stderr.text();
    ensure!(output.status.is_success(), "{}", errors.trim());
    written?;
    file.rewind()?;
    let backup = backup::read(&*file).context("what the machine sent is damaged")?;
    ensure!(
        backup.description == description,
        "the machine sent another backup"
    );
    Ok(backup)
}
