//! `outrigger machine list`: lists machines.

use std::process::ExitCode;

use kube::ResourceExt as _;
use kube::api::ListParams;
use outrigger_api::machine::{Machine, MachinePhase};
use serde::Serialize;

use super::{explain, machines};
use crate::arguments::{Output, OutputFlag};
use crate::commands::plugin::connect::ServerFlags;
use crate::printer::{Color, Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger machine list
  outrigger machine list --cluster cls-1 -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only the machines of this cluster
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    #[command(flatten)]
    flags: ServerFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MachineRow {
    name: String,
    cluster: String,
    role: String,
    address: String,
    phase: MachinePhase,
    version: Option<String>,
    step: Option<String>,
    message: String,
}

impl Row for MachineRow {
    const HEADERS: &'static [&'static str] = &[
        "NAME", "CLUSTER", "ROLE", "ADDRESS", "PHASE", "VERSION", "STEP", "MESSAGE",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.cluster.clone(),
            self.role.clone(),
            self.address.clone(),
            format!("{:?}", self.phase),
            self.version.clone().unwrap_or_else(|| "-".to_owned()),
            self.step.clone().unwrap_or_else(|| "-".to_owned()),
            self.message.clone(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        (column == 4).then_some(match self.phase {
            MachinePhase::Running => Color::Green,
            MachinePhase::Failed => Color::Red,
            _ => Color::Yellow,
        })
    }
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let connection = args.flags.connect().await?;
    let list = machines(&connection).list(&ListParams::default()).await;
    let mut list = list.map_err(|error| explain(&error, None))?.items;
    list.retain(|machine| {
        let cluster = args.cluster.as_ref();
        cluster.is_none_or(|cluster| machine.spec.cluster == *cluster)
    });
    let mut rows: Vec<MachineRow> = list.iter().map(row).collect();
    rows.sort_by(|a, b| (&a.cluster, &a.name).cmp(&(&b.cluster, &b.name)));
    if rows.is_empty() && args.output.output == Output::Table {
        note("there are no machines");
        return Ok(ExitCode::SUCCESS);
    }
    printer.list(args.output.output, &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn row(machine: &Machine) -> MachineRow {
    let status = machine.status.clone().unwrap_or_default();
    let step = status.flow.and_then(|flow| flow.step);
    MachineRow {
        name: machine.name_any(),
        cluster: machine.spec.cluster.clone(),
        role: format!("{:?}", machine.spec.role),
        address: machine.spec.access.address(),
        phase: status.phase,
        version: status.version,
        step,
        message: status.message,
    }
}
