//! `outrigger cluster support-bundle`: what the machines of a cluster and their objects say, without secrets, in one archive.

use std::path::PathBuf;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use kube::ResourceExt as _;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_cluster::{Ssh, lifecycle};
use serde::Serialize;
use serde_json::Value;

use super::partial_file::{PartialFile, ensure_new};
use super::{edit, machines, show};
use crate::commands::plugin::connect::{Connection, ServerFlags};
use crate::commands::plugin::progress::parse_timeout;
use crate::plural::counted;
use crate::printer::Printer;
use crate::report::note;

mod archive;
mod collect;
mod redact;
mod secrets;

use archive::Archive;
use collect::{Collected, Question, collect};
use redact::Redactor;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster support-bundle cls-1 --to cls-1.tar.gz

The archive has the objects of the cluster with conditions and the output of hooks, and of each machine facts, versions, the
ends of logs and what containers run. Passwords, tokens and private keys are replaced by [redacted]; look through it before you
give it to somebody. It works while the API server of the cluster, or some machines, do not.";

/// Machines that are asked at the same time.
const CONCURRENT: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Archive to write (.tar.gz), which only its owner can read
    #[arg(long = "to", value_name = "FILE")]
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
    /// Maximum time for each machine
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_timeout)]
    timeout: Duration,
    #[command(flatten)]
    server: ServerFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    ensure_new(&args.file, args.overwrite)?;
    let connection = args.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    let machines = machines(&connection, &args.name).await?;
    let partial = PartialFile::create(&args.file)?;
    let bundle = Bundle {
        connection: &connection,
        cluster: &cluster,
        machines: &machines,
        timeout: args.timeout,
    };
    let silent = bundle.write(&partial.file).await?;
    partial.keep()?;
    let (count, file) = (counted(machines.len(), "machine"), args.file.display());
    printer.line(&format!(
        "cluster {}: {count} in {file}{}",
        args.name,
        match silent {
            0 => String::new(),
            silent => format!(", of which {silent} did not answer"),
        }
    ))
}

/// What a bundle is made of.
pub(super) struct Bundle<'a> {
    pub(super) connection: &'a Connection,
    pub(super) cluster: &'a Cluster,
    pub(super) machines: &'a [Machine],
    pub(super) timeout: Duration,
}

impl Bundle<'_> {
    /// Writes it, and returns how many machines did not answer.
    pub(super) async fn write(&self, file: &fs_err::File) -> anyhow::Result<usize> {
        let mut redactor = Redactor::default();
        secrets::add(&mut redactor, self.connection, self.cluster, self.machines).await;
        let mut archive = Archive::new(file, &self.cluster.name_any());
        archive.add("cluster.json", &redactor.text(&json(self.cluster)))?;
        let events = show::events(self.connection, self.cluster, self.machines).await;
        archive.add("events.json", &redactor.text(&json(&events)))?;
        let mut lines = Vec::new();
        let mut silent = 0;
        let ssh = Ssh::default();
        let answers = self.machines.iter().map(|machine| {
            let client = &self.connection.client;
            let questions = questions(machine);
            collect(client, &ssh, machine, questions, self.timeout)
        });
        let mut answers = futures::stream::iter(answers).buffered(CONCURRENT);
        let mut machines = self.machines.iter();
        while let Some(collected) = answers.next().await {
            let Some(machine) = machines.next() else {
                break;
            };
            let name = machine.name_any();
            archive.add(
                &format!("machines/{name}/machine.json"),
                &redactor.text(&json(machine)),
            )?;
            let Collected { answers, failure } = collected;
            silent += usize::from(answers.is_empty());
            for (file, text) in &answers {
                archive.add(&format!("machines/{name}/{file}"), &redactor.text(text))?;
            }
            let count = counted(answers.len(), "file");
            let line = match failure {
                None => format!("{name}: {count}"),
                Some(failure) => format!("{name}: {count}; {}", redactor.text(&failure)),
            };
            if answers.is_empty() {
                note(&line);
            }
            lines.push(line);
        }
        archive.add("summary.txt", &self.summary(&lines))?;
        archive.finish()?;
        Ok(silent)
    }

    fn summary(&self, lines: &[String]) -> String {
        let status = self.cluster.status.clone().unwrap_or_default();
        let mut text = format!(
            "cluster {}\nphase {:?}\nversion {}\noutrigger {}\ncollected {}\n\nmachines:\n",
            self.cluster.name_any(),
            status.phase,
            lifecycle::installed_version(self.cluster).unwrap_or("none"),
            env!("CARGO_PKG_VERSION"),
            Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        );
        for line in lines {
            text.push_str(&format!("{line}\n"));
        }
        text
    }
}

/// What a machine is asked. Those of the control plane are also asked about the cluster.
fn questions(machine: &Machine) -> Vec<Question> {
    use outrigger_api::machine::MachineRole;
    let is_control_plane = machine.spec.role == MachineRole::ControlPlane;
    let of_cluster = collect::CLUSTER.iter().filter(|_| is_control_plane);
    collect::MACHINE.iter().chain(of_cluster).copied().collect()
}

/// An object as JSON, without credentials and what tools note for themselves.
fn json(object: &impl Serialize) -> String {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    redact::without_credentials(&mut value);
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
