//! Attempts: commands that run at most once for each id, whatever happens to the connection or to the caller.
//!
//! A supervisor (`attempt.sh`) runs on the machine, in a session of its own, and records how the command ended in the state
//! folder of the machine. Whoever asks for the same id again gets the record, or waits for the command that still runs.

mod request;
mod script_name;

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use self::request::IdleShell;
use self::request::{Marker, Request};
use self::script_name::without_script_names;
use crate::answer::{self, TooLong};
use crate::channel::Event;
use crate::machine::Shell;
use crate::output::Captured;
use crate::preamble::Preamble;
use crate::shell::quote;
use crate::{Command, Machine, RunError};

/// Where the superuser's records are.
const STATE: &str = "/var/lib/outrigger";
/// The attempt begins like a login, not like its supervisor.
const SCRIPT_START: &str = "umask 022\ncd \"${HOME:-/}\" 2>/dev/null || cd /\n";
/// How long the machine may take to report after the timeout of the command.
const REPORT: Duration = Duration::from_secs(30);
/// How long the output of a command is read after its end.
const DRAIN: Duration = Duration::from_secs(1);
/// Delays between attempts to connect again.
const RECONNECT: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

/// The longest first line of an answer.
const MAX_LINE: usize = 1000;

/// What is asked about an attempt.
#[derive(Debug, Clone, Copy)]
enum Verb {
    Run,
    Cancel,
}

impl Verb {
    fn text(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Cancel => "cancel",
        }
    }
}

/// Identifies work on a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    task: String,
    id: String,
}

impl AttemptId {
    /// `task` is what is attempted, such as a step of a cluster: of its attempts only one runs at a time. `id` is this
    /// attempt at it.
    pub fn new(task: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            id: id.into(),
        }
    }
}

/// How an attempt ended. The output is that of stdout and stderr, in the order in which it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// With an exit code; 128 plus the signal if a signal killed it.
    Exited { code: u32, output: Captured },
    /// It was killed after this timeout, which it began with.
    TimedOut { after: Duration, output: Captured },
    /// It was cancelled, or another attempt at the task began. It may not have started at all.
    Cancelled { output: Captured },
    /// The machine rebooted, or what supervised the attempt was killed. How far it got is not known.
    Lost { output: Captured },
}

impl AttemptOutcome {
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0, .. })
    }

    pub fn output(&self) -> &Captured {
        match self {
            Self::Exited { output, .. }
            | Self::TimedOut { output, .. }
            | Self::Cancelled { output }
            | Self::Lost { output } => output,
        }
    }
}

impl Machine {
    /// Runs a command once for an attempt id, or returns how it ended when it ran for this id, also for another caller.
    /// All other attempts at the task are ended before.
    ///
    /// If the connection is lost, connects again until the timeout of the command has passed. Dropping the future leaves
    /// the command running: ask again, or call [`Self::cancel_attempt`].
    pub async fn run_attempt(
        &self,
        attempt: &AttemptId,
        command: &Command,
    ) -> Result<AttemptOutcome, RunError> {
        self.attempt(Verb::Run, attempt, command).await
    }

    /// Ends an attempt. If it has not begun, it never will. Returns its outcome, which may be an earlier one.
    pub async fn cancel_attempt(&self, attempt: &AttemptId) -> Result<AttemptOutcome, RunError> {
        let nothing = Command::shell("").timeout(Duration::from_secs(10));
        self.attempt(Verb::Cancel, attempt, &nothing).await
    }

    /// Removes the records of all attempts at these tasks, and the state folder if nothing else is in it. None of the
    /// tasks may be attempted any more: what ended would run again.
    pub async fn forget_attempts(&self, tasks: &[String]) -> Result<(), RunError> {
        let state = self.state_folder().await?;
        let files: Vec<String> = tasks
            .iter()
            .map(|task| format!("{}.*", key(task)))
            .collect();
        let program = format!(
            "s={}; s=${{s:-${{HOME:-/}}/.outrigger}}\n\
             (cd \"$s/attempts\" 2>/dev/null && rm -f -- {})\n\
             rmdir \"$s/attempts\" \"$s\" 2>/dev/null; exit 0",
            quote(&state),
            files.join(" "),
        );
        let command = Command::shell(program).timeout(Duration::from_mins(1));
        self.run(&command).await.map(drop)
    }

    /// Where the machine records what was done on it; empty for a folder in the home folder of the user.
    pub(crate) async fn state_folder(&self) -> Result<String, RunError> {
        let is_root = self.privilege().await?.is_root();
        let default = if is_root { STATE } else { "" };
        Ok(self.state().unwrap_or(default).to_owned())
    }

    async fn attempt(
        &self,
        verb: Verb,
        attempt: &AttemptId,
        command: &Command,
    ) -> Result<AttemptOutcome, RunError> {
        let begun = Instant::now();
        let deadline = begun + command.timeout + REPORT;
        let mut was_started = false;
        let mut delays = RECONNECT.iter().chain(std::iter::repeat(&RECONNECT[3]));
        loop {
            let mut is_started = false;
            let asking = self.ask(verb, attempt, command, &mut is_started);
            let result = timeout_at(deadline, asking).await;
            was_started |= is_started;
            let timed_out = || {
                let elapsed = Duration::from_secs(begun.elapsed().as_secs());
                if !was_started {
                    return self.not_started(elapsed);
                }
                RunError::NotReported {
                    machine: self.name().to_owned(),
                    elapsed,
                    waiting_for: if is_started {
                        "the command"
                    } else {
                        self.waits_for()
                    },
                }
            };
            match result.unwrap_or_else(|_| Err(timed_out())) {
                Err(error) if error.is_connection_loss() => {
                    let delay = delays.next().copied().unwrap_or_default();
                    if Instant::now() + delay >= deadline {
                        return Err(error);
                    }
                    tokio::time::sleep(delay).await;
                }
                result => return result,
            }
        }
    }

    /// Asks again after the timeout of the command: an attempt that is overdue is ended by who asks for it.
    async fn ask(
        &self,
        verb: Verb,
        attempt: &AttemptId,
        command: &Command,
        is_started: &mut bool,
    ) -> Result<AttemptOutcome, RunError> {
        let request = Request::new(&self.attempt_text(verb, attempt, command).await?)?;
        let mut shell = match verb {
            Verb::Run => self.send(&request).await?,
            // What is to be cancelled may hold the places of all channels.
            Verb::Cancel => self.send_in_extra(&request).await?,
        };
        *is_started = true;
        let answer = self.answer(&mut shell, &request.marker, command.capture);
        if let Ok(answer) = timeout(command.timeout, answer).await
            && let Reply::Outcome(outcome) = answer?
        {
            self.keep(shell);
            return Ok(outcome);
        }
        drop(shell);
        let mut shell = self.send_in_extra(&request).await?;
        let answer = self.answer(&mut shell, &request.marker, command.capture);
        match answer.await? {
            Reply::Outcome(outcome) => Ok(outcome),
            Reply::OutputLeftOpen => Err(self.lost()),
            Reply::Nothing(error) => Err(error),
        }
    }

    /// Reads an answer up to the marker.
    async fn answer(
        &self,
        shell: &mut Shell<'_>,
        marker: &Marker,
        capture: usize,
    ) -> Result<Reply, RunError> {
        let mut answer = Answer::new(marker);
        while !answer.is_complete {
            let next = shell.events.next();
            let drained_by = answer.drained_by.filter(|_| !answer.is_line_read);
            let event = match answer.ended_by.or(drained_by) {
                None => next.await,
                Some(time) => match timeout_at(time, next).await {
                    Ok(event) => event,
                    Err(_) if answer.ended_by.is_some() => break,
                    Err(_) => return Ok(Reply::OutputLeftOpen),
                },
            };
            match event {
                Event::Stdout(data) => {
                    let pushed = answer.push(&data, marker, capture);
                    pushed.map_err(|_| answer::unexpected(self.name(), &answer.text()))?;
                }
                Event::Stderr(data) => answer.errors.push(&data, 2000),
                // What it left behind may keep the channel open.
                Event::Ended(_) => answer.ended_by = Some(Instant::now() + DRAIN),
                Event::Refused | Event::Closed => break,
            }
        }
        // The answer may be cut off. Asking again is harmless.
        if !answer.is_complete && answer.ended_by.is_none() {
            return Err(self.lost());
        }
        if !answer.is_complete {
            answer.release(answer.held_back.len(), capture);
        }
        if answer.line.bytes().is_empty() {
            return Ok(Reply::Nothing(answer.nothing(self.name())));
        }
        if answer.is_complete && !answer.is_outcome() {
            // Messages may arrive after the marker.
            shell.input.end().await;
            loop {
                match shell.events.next().await {
                    Event::Stderr(data) => answer.errors.push(&data, 2000),
                    Event::Stdout(_) | Event::Ended(_) => {}
                    Event::Refused | Event::Closed => break,
                }
            }
        }
        answer.outcome(self.name()).map(Reply::Outcome)
    }

    /// The shell text of a request.
    async fn attempt_text(
        &self,
        verb: Verb,
        attempt: &AttemptId,
        command: &Command,
    ) -> Result<String, RunError> {
        let state = self.state_folder().await?;
        let script = Script::of(command);
        Ok(format!(
            "attempt {} {} {} {} {} {} {}",
            quote(&state),
            key(&attempt.task),
            key(&attempt.id),
            command.timeout.as_secs().max(1),
            verb.text(),
            quote(script.starter),
            quote(&script.text),
        ))
    }
}

/// What the supervisor starts in the background.
struct Script {
    /// The words that come before the path of the script. It leads a session of its own.
    starter: &'static str,
    text: String,
}

impl Script {
    /// A program is started by a copy of the supervisor's shell: each shell less saves a good part of a short hook.
    fn of(command: &Command) -> Self {
        let (starter, end) = match command.words() {
            Some(words) => (".", command.setup() + "lead_session " + words),
            None => ("setsid /bin/sh", command.program()),
        };
        let text = format!("{SCRIPT_START}{end}");
        Self { starter, text }
    }
}

/// A part of the name of a file, for any text.
fn key(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What a shell that was asked about an attempt does.
#[derive(Debug)]
enum Reply {
    Outcome(AttemptOutcome),
    /// The command has ended, and a process that it left behind keeps its output open: to attach to the attempt ends that.
    OutputLeftOpen,
    /// It ended without an answer. The command may have killed it.
    Nothing(RunError),
}

/// What the machine answers: a line, and the output of the command.
#[derive(Debug)]
struct Answer {
    /// What is printed before the line, until it begins.
    preamble: Option<Preamble>,
    /// The beginning of that.
    printed: String,
    line: answer::Answer,
    is_line_read: bool,
    /// Until when all output is expected, once the command has ended.
    drained_by: Option<Instant>,
    output: Captured,
    /// What may be the beginning of the marker.
    held_back: Vec<u8>,
    /// Bytes before the output: the newline after the line.
    skipped: usize,
    errors: Captured,
    /// Whether the marker was read.
    is_complete: bool,
    /// Until when the rest is expected, once the shell has ended.
    ended_by: Option<Instant>,
}

impl Answer {
    fn new(marker: &Marker) -> Self {
        Self {
            preamble: Some(Preamble::until(marker.text())),
            printed: String::new(),
            line: answer::Answer::new(MAX_LINE),
            is_line_read: false,
            drained_by: None,
            output: Captured::default(),
            held_back: Vec::new(),
            skipped: 1,
            errors: Captured::default(),
            is_complete: false,
            ended_by: None,
        }
    }

    fn push(&mut self, data: &[u8], marker: &Marker, capture: usize) -> Result<(), TooLong> {
        let mut data = data;
        while !self.is_line_read && !data.is_empty() {
            if let Some(preamble) = &mut self.preamble {
                let Some(start) = preamble.skip(data)? else {
                    return Ok(());
                };
                self.printed = preamble.text();
                self.preamble = None;
                data = data.get(start..).unwrap_or_default();
                continue;
            }
            let end = data.iter().position(|byte| *byte == b'\n');
            let (line, rest) = data.split_at(end.unwrap_or(data.len()));
            self.line.push(line)?;
            if end.is_none() {
                return Ok(());
            }
            if self.line.bytes() == b"=" && self.drained_by.is_none() {
                self.drained_by = Some(Instant::now() + DRAIN);
                self.line = answer::Answer::new(MAX_LINE);
                self.preamble = Some(Preamble::until(marker.text()));
                data = rest.get(1..).unwrap_or_default();
                continue;
            }
            self.is_line_read = true;
            if self.line.bytes().is_empty() {
                // The end of an answer. The shell that was to answer was killed.
                self.is_complete = true;
                return Ok(());
            }
            // The newline may be the first byte of the marker.
            data = rest;
        }
        self.held_back.extend_from_slice(data);
        self.is_complete = self.held_back.ends_with(marker.bytes());
        let end = self.held_back.len().saturating_sub(marker.bytes().len());
        self.release(end, capture);
        Ok(())
    }

    /// Takes what was held back as output.
    fn release(&mut self, end: usize, capture: usize) {
        let released: Vec<u8> = self.held_back.drain(..end).collect();
        let output = released.get(self.skipped..).unwrap_or_default();
        self.skipped = self.skipped.saturating_sub(released.len());
        self.output.push(output, capture);
    }

    /// What was read so far, for errors.
    fn text(&self) -> String {
        match &self.preamble {
            Some(preamble) => preamble.text(),
            None if self.line.bytes().is_empty() => self.printed.clone(),
            None => self.line.text(),
        }
    }

    /// The error about an answer without a line.
    fn nothing(&self, machine: &str) -> RunError {
        let answer = format!("{}{}", self.text(), self.errors.text());
        if answer.trim().is_empty() {
            let machine = machine.to_owned();
            return RunError::NoAnswer { machine };
        }
        answer::unexpected(machine, &answer)
    }

    /// The line without the sign that it begins with.
    fn line(&self) -> String {
        let line = self.line.text();
        line.strip_prefix('=').unwrap_or(&line).to_owned()
    }

    /// Whether it says how the attempt ended.
    fn is_outcome(&self) -> bool {
        let line = self.line();
        let word = line.split(' ').next().unwrap_or_default();
        ["exited", "timeout", "ended", "lost"].contains(&word)
    }

    fn outcome(self, machine: &str) -> Result<AttemptOutcome, RunError> {
        let line = self.line();
        let mut output = self.output;
        output.head = without_script_names(&output.head);
        let mut words = line.split(' ');
        let outcome = words.next().unwrap_or_default();
        let code = words.next().and_then(|code| code.parse().ok());
        output.dropped += words
            .next()
            .and_then(|n| n.parse::<u64>().ok())
            .unwrap_or(0);
        let limit = words.next().and_then(|seconds| seconds.parse().ok());
        match (outcome, code) {
            ("exited", Some(code)) => Ok(AttemptOutcome::Exited { code, output }),
            ("timeout", _) => Ok(AttemptOutcome::TimedOut {
                after: Duration::from_secs(limit.unwrap_or_default()),
                output,
            }),
            ("ended", _) => Ok(AttemptOutcome::Cancelled { output }),
            ("lost", _) => Ok(AttemptOutcome::Lost { output }),
            ("state", _) => Err(RunError::State {
                machine: machine.to_owned(),
                message: line.strip_prefix("state ").unwrap_or_default().to_owned(),
            }),
            _ => {
                let answer = format!("{line}{}", self.errors.text());
                Err(answer::unexpected(machine, &answer))
            }
        }
    }
}

#[cfg(test)]
mod tests;
