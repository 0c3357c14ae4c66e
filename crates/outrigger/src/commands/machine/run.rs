//! `outrigger machine run`: runs a command on machines.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use kube::Client;
use outrigger_api::machine::Machine;
use outrigger_node::{Chunk, Command, Output, Status};

use super::connect::{OnMachine, on_each};
use super::select::Selection;
use crate::commands::plugin::connect::ServerFlags;
use crate::commands::plugin::progress;
use crate::commands::runtime::shutdown_signal;
use crate::printer::Printer;
use crate::report::{self, note};

const MIN_TIMEOUT: Duration = Duration::from_secs(1);
/// A year.
const MAX_TIMEOUT: Duration = Duration::from_hours(365 * 24);
const EXAMPLES: &str = "\
Examples:
  outrigger machine run worker-1 -- uptime
  outrigger machine run --cluster cls-1 -- sh -c 'df -h / | tail -n 1'

The exit code is that of the command if there is one machine. If there are several, it is 1 if the command fails on any of
them. It is 130 if the command is interrupted.";

/// The exit code of a command that a signal interrupts, as in shells.
const INTERRUPTED: u8 = 130;
/// How long the commands on machines may take to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    machines: Selection,
    /// Program and arguments; they reach the program as they are
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Time after which the command is killed, such as 90s or 5m; a number is one of seconds
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_seconds)]
    timeout: Duration,
    #[command(flatten)]
    flags: ServerFlags,
}

/// Why a timeout is rejected.
#[derive(Debug, thiserror::Error)]
enum TimeoutError {
    #[error(transparent)]
    Invalid(#[from] progress::InvalidTimeout),
    #[error("it must be between one second and one year")]
    Range,
}

fn parse_seconds(text: &str) -> Result<Duration, TimeoutError> {
    let timeout = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => progress::parse_timeout(text)?,
    };
    let is_allowed = (MIN_TIMEOUT..=MAX_TIMEOUT).contains(&timeout);
    is_allowed.then_some(timeout).ok_or(TimeoutError::Range)
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let connection = args.flags.connect().await?;
    let machines = args.machines.find(&connection).await?;
    let interrupted = shutdown_signal(None)?;
    tokio::select! {
        code = run_on(&connection.client, machines, args, printer) => code,
        () = interrupted => {
            // Commands whose futures were dropped are killed on their machines.
            let killed = outrigger_node::dropped_commands_killed();
            if tokio::time::timeout(KILL_TIMEOUT, killed).await.is_err() {
                note("interrupted; commands may still run on machines that do not respond");
            }
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Runs the command. The exit code is that of the command if there is one machine.
async fn run_on(
    client: &Client,
    machines: Vec<Machine>,
    args: &Args,
    printer: &Printer,
) -> anyhow::Result<ExitCode> {
    let (is_single, total) = (machines.len() == 1, machines.len());
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Ok(ExitCode::from(2));
    };
    let command = Command::new(program, arguments.iter().map(String::as_str)).timeout(args.timeout);
    let (mut failed, mut code) = (0, 1);
    let work = async |machine: &outrigger_node::Machine| {
        let output = machine.run_streamed(&command, |chunk| {
            if is_single {
                print_chunk(chunk, printer);
            }
        });
        Ok(output.await?)
    };
    on_each(client, machines, work, |done| {
        match print(&done, is_single, printer)? {
            Some(0) => {}
            exit_code => {
                failed += 1;
                code = exit_code.and_then(|it| u8::try_from(it).ok()).unwrap_or(1);
            }
        }
        Ok(())
    })
    .await?;
    if failed > 0 && !is_single {
        note(&format!(
            "the command failed on {failed} of {total} machines"
        ));
    }
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ if is_single => ExitCode::from(code),
        _ => ExitCode::FAILURE,
    })
}

/// Prints a piece of output as it arrives.
fn print_chunk(chunk: Chunk<'_>, printer: &Printer) {
    // A closed pipe does not end the command.
    let _ = match chunk {
        Chunk::Stdout(data) => printer.raw(data),
        Chunk::Stderr(data) => std::io::stderr().write_all(data).map_err(Into::into),
    };
}

/// Prints the output of a machine, unless that was done, and how it ended. Returns the exit code of the command.
fn print(
    done: &OnMachine<Output>,
    is_printed: bool,
    printer: &Printer,
) -> anyhow::Result<Option<u32>> {
    let output = match &done.result {
        Ok(output) => output,
        Err(error) => {
            note(&format!("{error:#}"));
            return Ok(None);
        }
    };
    if !is_printed {
        printer.line(&format!("==> {}", done.name))?;
        printer.data(output.stdout.text().as_bytes())?;
        let errors = output.stderr.text();
        if !errors.is_empty() {
            report::lines(errors.trim_end());
        }
    }
    let (code, reason) = match &output.status {
        Status::Exited(0) => return Ok(Some(0)),
        Status::Exited(code) => (Some(*code), format!("exit code {code}")),
        Status::Killed(signal) => (None, format!("killed by {signal}")),
    };
    note(&format!("machine {}: {reason}", done.name));
    Ok(code)
}
