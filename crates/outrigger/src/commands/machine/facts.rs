//! `outrigger machine facts`: connects to machines and prints what they are.

use std::process::ExitCode;

use outrigger_node::Facts;
use serde::Serialize;

use super::connect::on_each;
use super::select::Selection;
use crate::arguments::OutputFlag;
use crate::commands::plugin::connect::ServerFlags;
use crate::commands::size::Size;
use crate::printer::{Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger machine facts worker-1
  outrigger machine facts --cluster cls-1 -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    machines: Selection,
    #[command(flatten)]
    flags: ServerFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FactsRow {
    name: String,
    hostname: String,
    os: String,
    architecture: String,
    kernel: String,
    cpus: Option<u32>,
    memory_bytes: Option<u64>,
    free_disk_bytes: Option<u64>,
    container_runtimes: Vec<String>,
}

impl Row for FactsRow {
    const HEADERS: &'static [&'static str] = &[
        "NAME",
        "HOSTNAME",
        "OS",
        "ARCH",
        "KERNEL",
        "CPUS",
        "MEMORY",
        "FREE DISK",
        "RUNTIMES",
    ];

    fn cells(&self) -> Vec<String> {
        let size = |bytes: Option<u64>| bytes.map_or_else(unknown, |it| Size::from(it).to_string());
        vec![
            self.name.clone(),
            self.hostname.clone(),
            self.os.clone(),
            self.architecture.clone(),
            self.kernel.clone(),
            self.cpus.map_or_else(unknown, |cpus| cpus.to_string()),
            size(self.memory_bytes),
            size(self.free_disk_bytes),
            self.container_runtimes.join(", "),
        ]
    }
}

fn unknown() -> String {
    "-".to_owned()
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let connection = args.flags.connect().await?;
    let machines = args.machines.find(&connection).await?;
    let (mut rows, mut failed) = (Vec::new(), 0);
    let work = async |machine: &outrigger_node::Machine| Ok(machine.facts().await?);
    on_each(&connection.client, machines, work, |done| {
        match done.result {
            Ok(facts) => rows.push(row(done.name, facts)),
            Err(error) => {
                failed += 1;
                note(&format!("{error:#}"));
            }
        }
        Ok(())
    })
    .await?;
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    printer.list(args.output.output, &rows)?;
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn row(name: String, facts: Facts) -> FactsRow {
    FactsRow {
        name,
        hostname: facts.hostname,
        os: facts.os_name,
        architecture: facts.architecture,
        kernel: facts.kernel,
        cpus: facts.cpus,
        memory_bytes: facts.memory_bytes,
        free_disk_bytes: facts.free_bytes.get("/").copied(),
        container_runtimes: facts.container_runtimes,
    }
}
