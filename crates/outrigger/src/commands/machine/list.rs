//! `outrigger machine list`: lists machines, and their changes.

use std::collections::BTreeMap;
use std::process::ExitCode;

use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::api::ListParams;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, Event, watcher};
use outrigger_api::machine::{Machine, MachineFacts, MachinePhase};
use serde::Serialize;

use super::{explain, machines};
use crate::age;
use crate::arguments::{Output, WideOutput, WideOutputFlag};
use crate::commands::plugin::connect::{Connection, ServerFlags};
use crate::commands::size::Size;
use crate::printer::{Color, Printer, Row, widths};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger machine list
  outrigger machine list --cluster cls-1 -o wide --watch
  outrigger machine list --cluster cls-1 -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only the machines of this cluster
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// After the list, print each machine that changes, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    flags: ServerFlags,
    #[command(flatten)]
    output: WideOutputFlag,
}

impl Args {
    fn is_listed(&self, machine: &Machine) -> bool {
        let cluster = self.cluster.as_ref();
        cluster.is_none_or(|cluster| machine.spec.cluster == *cluster)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineRow {
    name: String,
    cluster: String,
    role: String,
    address: String,
    phase: MachinePhase,
    version: Option<String>,
    step: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<MachineFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
}

impl MachineRow {
    fn phase_color(&self) -> Color {
        match self.phase {
            MachinePhase::Running => Color::Green,
            MachinePhase::Failed => Color::Red,
            _ => Color::Yellow,
        }
    }
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
            or_dash(self.version.clone()),
            or_dash(self.step.clone()),
            self.message.clone(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        (column == 4).then(|| self.phase_color())
    }
}

/// A row with what is known about the machine itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
struct WideRow(MachineRow);

impl Row for WideRow {
    const HEADERS: &'static [&'static str] = &[
        "NAME", "CLUSTER", "ROLE", "ADDRESS", "PHASE", "VERSION", "STEP", "OS", "ARCH", "KERNEL",
        "CPUS", "MEMORY", "AGE", "MESSAGE",
    ];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.0.cells();
        let message = cells.pop().unwrap_or_default();
        let facts = self.0.facts.as_ref();
        let fact = |of: fn(&MachineFacts) -> String| {
            let text = facts.map(of).filter(|text| !text.is_empty());
            or_dash(text)
        };
        cells.extend([
            fact(|facts| facts.os.clone()),
            fact(|facts| facts.architecture.clone()),
            fact(|facts| facts.kernel.clone()),
            fact(|facts| facts.cpus.to_string()),
            fact(|facts| Size::from(facts.memory_bytes).to_string()),
            age::since_text(self.0.created.as_deref()),
            message,
        ]);
        cells
    }

    fn color(&self, column: usize) -> Option<Color> {
        self.0.color(column)
    }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let connection = args.flags.connect().await?;
    match args.output.output {
        WideOutput::Wide => print(args, &connection, printer, WideRow).await?,
        _ => print(args, &connection, printer, |row| row).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn print<T: Row + Serialize>(
    args: &Args,
    connection: &Connection,
    printer: &Printer,
    columns: fn(MachineRow) -> T,
) -> anyhow::Result<()> {
    let format = args.output.output.format();
    let list = machines(connection).list(&ListParams::default()).await;
    let list = list.map_err(|error| explain(&error, None))?;
    let listed = list.items.iter().filter(|machine| args.is_listed(machine));
    let mut rows: Vec<MachineRow> = listed.map(machine_row).collect();
    rows.sort_by(|a, b| (&a.cluster, &a.name).cmp(&(&b.cluster, &b.name)));
    let mut changes = Changes::new(&rows);
    let rows: Vec<T> = rows.into_iter().map(columns).collect();
    if rows.is_empty() && format == Output::Table {
        note("there are no machines");
    }
    if !rows.is_empty() || (format != Output::Table && !args.watch) {
        printer.list(format, &rows)?;
    }
    if !args.watch {
        return Ok(());
    }
    let widths = widths(&rows);
    let events = watcher(machines(connection), Config::default());
    let mut events = events.default_backoff().boxed();
    while let Some(event) = events.next().await {
        // Watchers retry after errors.
        for row in event.into_iter().flat_map(|event| changes.of(args, event)) {
            printer.next_row(format, &widths, &columns(row))?;
        }
    }
    Ok(())
}

/// What was printed of each machine.
#[derive(Debug, Default)]
struct Changes {
    printed: BTreeMap<String, MachineRow>,
    /// The names in the list that a watch begins with, while it is read.
    listing: Vec<String>,
}

impl Changes {
    fn new(rows: &[MachineRow]) -> Self {
        let printed = rows.iter().map(|row| (row.name.clone(), row.clone()));
        Self {
            printed: printed.collect(),
            listing: Vec::new(),
        }
    }

    /// The rows to print for an event.
    fn of(&mut self, args: &Args, event: Event<Machine>) -> Vec<MachineRow> {
        match event {
            Event::Init => {
                self.listing.clear();
                Vec::new()
            }
            Event::InitApply(machine) => {
                self.listing.push(machine.name_any());
                self.changed(args, &machine)
            }
            Event::InitDone => {
                let printed = self.printed.keys();
                let gone = printed.filter(|name| !self.listing.contains(name));
                let gone: Vec<String> = gone.cloned().collect();
                gone.iter().filter_map(|name| self.deleted(name)).collect()
            }
            Event::Apply(machine) => self.changed(args, &machine),
            Event::Delete(machine) => self.deleted(&machine.name_any()).into_iter().collect(),
        }
    }

    fn changed(&mut self, args: &Args, machine: &Machine) -> Vec<MachineRow> {
        let new = machine_row(machine);
        let is_printed = self.printed.get(&new.name) == Some(&new);
        if is_printed || !args.is_listed(machine) {
            return Vec::new();
        }
        self.printed.insert(new.name.clone(), new.clone());
        vec![new]
    }

    fn deleted(&mut self, name: &str) -> Option<MachineRow> {
        let row = self.printed.remove(name)?;
        Some(MachineRow {
            message: "deleted".to_owned(),
            ..row
        })
    }
}

pub(crate) fn machine_row(machine: &Machine) -> MachineRow {
    let status = machine.status.clone().unwrap_or_default();
    let step = status.flow.and_then(|flow| flow.step);
    let created = machine.creation_timestamp();
    MachineRow {
        name: machine.name_any(),
        cluster: machine.spec.cluster.clone(),
        role: format!("{:?}", machine.spec.role),
        address: machine.spec.access.address(),
        phase: status.phase,
        version: status.version,
        step,
        message: status.message,
        facts: status.facts,
        created: created.map(|time| time.0.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn args(more: &[&str]) -> Args {
        let args = ["list"].iter().chain(more);
        Command::try_parse_from(args).unwrap().args
    }

    fn machine(name: &str, cluster: &str, phase: &str) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": name},
            "spec": {"cluster": cluster, "ip": "10.0.0.9"},
            "status": {
                "phase": phase,
                "facts": {"os": "Debian", "architecture": "amd64", "cpus": 4, "memoryBytes": 8_000_000_000_u64},
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_watch_prints_what_changes_once_and_what_is_deleted() {
        let args = args(&["--cluster", "a", "--watch"]);
        let mut changes = Changes::new(&[machine_row(&machine("m", "a", "Pending"))]);
        let mut names = |event| -> Vec<String> {
            let rows = changes.of(&args, event).into_iter();
            rows.map(|row| format!("{} {:?} {}", row.name, row.phase, row.message))
                .collect()
        };
        assert!(names(Event::Init).is_empty());
        assert!(names(Event::InitApply(machine("m", "a", "Pending"))).is_empty());
        assert!(names(Event::InitDone).is_empty());
        let running = machine("m", "a", "Running");
        assert_eq!(names(Event::Apply(running.clone())), ["m Running "]);
        assert!(names(Event::Apply(running)).is_empty());
        assert!(names(Event::Apply(machine("other", "b", "Running"))).is_empty());
        // The connection was lost, and the machine deleted meanwhile.
        assert!(names(Event::Init).is_empty());
        assert_eq!(names(Event::InitDone), ["m Running deleted"]);
        assert!(names(Event::Delete(machine("m", "a", "Running"))).is_empty());
    }

    #[test]
    fn wide_rows_have_the_facts_of_the_machine() {
        let wide = WideRow(machine_row(&machine("m", "a", "Running")));
        let cells = wide.cells();
        assert_eq!(cells.len(), WideRow::HEADERS.len());
        assert_eq!(cells[7..11], ["Debian", "amd64", "-", "4"]);
        let value = serde_json::to_value(&wide).unwrap();
        assert_eq!(value["facts"]["cpus"], 4);
    }
}
