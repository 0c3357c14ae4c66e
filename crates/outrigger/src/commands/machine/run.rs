//! `outrigger machine run`: runs a command on machines.

use std::process::ExitCode;
use std::time::Duration;

use outrigger_node::{Command, Output, Status};

use super::connect::{OnMachine, on_each};
use super::select::Selection;
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;
use crate::report::note;

/// A year, in seconds.
const MAX_TIMEOUT: u64 = 365 * 24 * 60 * 60;
const EXAMPLES: &str = "\
Examples:
  outrigger machine run worker-1 -- uptime
  outrigger machine run --cluster cls-1 -- sh -c 'df -h / | tail -n 1'";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    machines: Selection,
    /// Program and arguments; they reach the program as they are
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Seconds after which the command is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=MAX_TIMEOUT))]
    timeout: u64,
    #[command(flatten)]
    flags: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let connection = args.flags.connect().await?;
    let machines = args.machines.find(&connection).await?;
    let (is_single, total) = (machines.len() == 1, machines.len());
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Ok(ExitCode::from(2));
    };
    let command = Command::new(program, arguments.iter().map(String::as_str))
        .timeout(Duration::from_secs(args.timeout));
    let mut failed = 0;
    let work = async |machine: &outrigger_node::Machine| Ok(machine.run(&command).await?);
    on_each(&connection.client, machines, work, |done| {
        failed += usize::from(!print(&done, is_single, printer)?);
        Ok(())
    })
    .await?;
    if failed > 0 && !is_single {
        note(&format!(
            "the command failed on {failed} of {total} machines"
        ));
    }
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Prints the output of a machine. Returns whether the command succeeded.
fn print(done: &OnMachine<Output>, is_single: bool, printer: &Printer) -> anyhow::Result<bool> {
    let output = match &done.result {
        Ok(output) => output,
        Err(error) => {
            note(&format!("{error:#}"));
            return Ok(false);
        }
    };
    if !is_single {
        printer.line(&format!("==> {}", done.name))?;
    }
    printer.bytes(output.stdout.text().as_bytes())?;
    let errors = output.stderr.text();
    if !errors.is_empty() {
        note(errors.trim_end());
    }
    let reason = match &output.status {
        Status::Exited(0) => return Ok(true),
        Status::Exited(code) => format!("exit code {code}"),
        Status::Killed(signal) => format!("killed by {signal}"),
    };
    note(&format!("machine {}: {reason}", done.name));
    Ok(false)
}
