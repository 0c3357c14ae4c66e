//! Runs commands: captured and streamed output, timeout, and the end of the whole process group.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::answer::{self, Answer};
use crate::channel::Event;
use crate::machine::Shell;
use crate::output::Captured;
use crate::preamble::Preamble;
use crate::shell::Program;
use crate::{Command, Machine, Output, RunError, Status};

/// How long output is still read after a command ended, if another process keeps it open.
const DRAIN: Duration = Duration::from_millis(500);

/// The longest line with the group.
const MAX_HEADER: usize = 100;

/// Makes the shell the leader of a process group, and prints the group after a marker.
const PREFIX: &str = r#"
IFS= read -r s </proc/$$/stat; s=${s##*) }; set -- $s
if [ "$3" != $$ ] && [ -z "$OUTRIGGER_PROGRAM" ]; then
  OUTRIGGER_PROGRAM=$(printf %b "$p"); export OUTRIGGER_PROGRAM
  exec setsid /bin/sh -c 'eval "$OUTRIGGER_PROGRAM"'
fi
unset OUTRIGGER_PROGRAM p; echo "$m$3"; unset m; set --
"#;

/// A piece of output while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
}

impl Machine {
    /// Runs a command and captures its output. A command that fails is not an error: see [`Output::status`].
    ///
    /// If the future is dropped, the process group of the command is killed.
    pub async fn run(&self, command: &Command) -> Result<Output, RunError> {
        self.run_streamed(command, |_| ()).await
    }

    /// Like [`Self::run`], and passes on the output as it arrives.
    pub async fn run_streamed(
        &self,
        command: &Command,
        mut on_output: impl FnMut(Chunk<'_>) + Send,
    ) -> Result<Output, RunError> {
        let deadline = Instant::now() + command.timeout;
        let timed_out = || RunError::Timeout {
            machine: self.name().to_owned(),
            timeout: command.timeout,
        };
        let preamble = Preamble::until_random();
        let program = format!("m={}{PREFIX}{}", preamble.marker(), command.program());
        let started = timeout_at(deadline, self.start(Program::WithInput(&program))).await;
        let mut shell = started.map_err(|_| self.not_started(command.timeout))??;
        let mut running = Running::new(self, preamble, command.capture);
        let run = running.finish(&mut shell, &command.input, &mut on_output);
        let result = timeout_at(deadline, run)
            .await
            .unwrap_or_else(|_| Err(timed_out()));
        let Shell {
            mut input,
            events,
            channel,
        } = shell;
        input.close(events).await;
        if matches!(result, Err(RunError::Timeout { .. })) {
            running.kill().await;
        }
        drop(channel);
        result
    }
}

/// A command that runs. If dropped, it is killed.
struct Running {
    machine: Machine,
    group: Option<u32>,
    /// Until the marker is read.
    preamble: Option<Preamble>,
    header: Answer,
    capture: usize,
    status: Option<Status>,
    stdout: Captured,
    stderr: Captured,
}

impl Running {
    fn new(machine: &Machine, preamble: Preamble, capture: usize) -> Self {
        Self {
            machine: machine.clone(),
            group: None,
            preamble: Some(preamble),
            header: Answer::new(MAX_HEADER),
            capture,
            status: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
        }
    }

    /// Sends the input, and handles events until the command and its output end.
    async fn finish(
        &mut self,
        shell: &mut Shell<'_>,
        input: &[u8],
        on_output: &mut (impl FnMut(Chunk<'_>) + Send),
    ) -> Result<Output, RunError> {
        let Shell {
            input: pipe,
            events,
            ..
        } = shell;
        let data = Bytes::copy_from_slice(input);
        let mut sending = Box::pin(async {
            // A command need not read its input.
            let _ = pipe.send(data).await;
            pipe.end().await;
        });
        let mut is_sent = false;
        let mut drained_at = None;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = &mut sending, if !is_sent => {
                    is_sent = true;
                    continue;
                }
                () = sleep_until(drained_at) => Event::Closed,
            };
            if matches!(event, Event::Closed) {
                return self.result();
            }
            self.on_event(event, on_output)?;
            if self.status.is_some() {
                drained_at = Some(Instant::now() + DRAIN);
            }
        }
    }

    fn on_event(
        &mut self,
        event: Event,
        on_output: &mut impl FnMut(Chunk<'_>),
    ) -> Result<(), RunError> {
        match event {
            Event::Stdout(data) => {
                let data = self.without_header(&data)?;
                if !data.is_empty() {
                    on_output(Chunk::Stdout(data));
                    self.stdout.push(data, self.capture);
                }
            }
            Event::Stderr(data) => {
                on_output(Chunk::Stderr(&data));
                self.stderr.push(&data, self.capture);
            }
            Event::Ended(status) => self.status = Some(status),
            Event::Refused => {
                return Err(RunError::Refused {
                    machine: self.machine.name().to_owned(),
                });
            }
            Event::Closed => {}
        }
        Ok(())
    }

    /// What follows the line with the process group.
    fn without_header<'a>(&mut self, data: &'a [u8]) -> Result<&'a [u8], RunError> {
        if self.group.is_some() {
            return Ok(data);
        }
        let mut data = data;
        if let Some(preamble) = &mut self.preamble {
            let skipped = preamble.skip(data);
            let skipped =
                skipped.map_err(|_| answer::unexpected(self.machine.name(), &preamble.text()))?;
            let Some(start) = skipped else {
                return Ok(&[]);
            };
            self.preamble = None;
            data = data.get(start..).unwrap_or_default();
        }
        let end = data.iter().position(|byte| *byte == b'\n');
        let (line, rest) = data.split_at(end.map_or(data.len(), |end| end + 1));
        let pushed = self.header.push(line);
        pushed.map_err(|_| self.header.unexpected(self.machine.name()))?;
        if end.is_some() {
            self.group = Some(self.parsed_group()?);
        }
        Ok(rest)
    }

    fn parsed_group(&self) -> Result<u32, RunError> {
        let header = self.header.text();
        let group = header.trim().parse().ok().filter(|group| *group > 1);
        group.ok_or_else(|| self.header.unexpected(self.machine.name()))
    }

    fn result(&mut self) -> Result<Output, RunError> {
        let status = self.status.take().ok_or_else(|| self.machine.lost())?;
        if self.group.take().is_none() {
            // No POSIX shell has read the program.
            let printed = self.preamble.as_ref().map(Preamble::text);
            let printed = printed.unwrap_or_else(|| self.header.text());
            let answer = format!("{printed}{}", self.stderr.text());
            return Err(answer::unexpected(self.machine.name(), &answer));
        }
        Ok(Output {
            status,
            stdout: std::mem::take(&mut self.stdout),
            stderr: std::mem::take(&mut self.stderr),
        })
    }

    /// Kills the process group.
    async fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            kill(&self.machine, group).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (Some(group), Ok(runtime)) = (self.group, tokio::runtime::Handle::try_current()) else {
            return;
        };
        let machine = self.machine.clone();
        let pending = PendingKill::new();
        runtime.spawn(async move {
            kill(&machine, group).await;
            drop(pending);
        });
    }
}

/// Counts as one of [`KILLS`] until it is dropped, also if that is because the runtime ends.
struct PendingKill;

impl PendingKill {
    fn new() -> Self {
        KILLS.send_modify(|count| *count += 1);
        Self
    }
}

impl Drop for PendingKill {
    fn drop(&mut self) {
        KILLS.send_modify(|count| *count -= 1);
    }
}

/// How many commands that were dropped are being killed.
static KILLS: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Waits until all commands are killed whose futures were dropped: for processes that are about to end.
pub async fn dropped_commands_killed() {
    let mut kills = KILLS.subscribe();
    // The sender is never dropped.
    let _ = kills.wait_for(|count| *count == 0).await;
}

/// Ends a process group: it may clean up for two seconds, then it is killed.
async fn kill(machine: &Machine, group: u32) {
    let program = format!(
        "kill -s TERM -- -{group} 2>/dev/null || exit 0
i=0; while [ $i -lt 20 ] && kill -s 0 -- -{group} 2>/dev/null; do sleep 0.1 2>/dev/null || sleep 1; i=$((i+1)); done
kill -s KILL -- -{group} 2>/dev/null"
    );
    let killing = async {
        let mut shell = machine.start_extra(Program::WithInput(&program)).await?;
        shell.input.end().await;
        while !matches!(shell.events.next().await, Event::Closed) {}
        Ok::<_, RunError>(())
    };
    let result = tokio::time::timeout(Duration::from_secs(30), killing).await;
    if !matches!(result, Ok(Ok(()))) {
        tracing::warn!("failed to kill process group {group} on {}", machine.name());
    }
}

/// Waits for ever without a time.
pub(crate) async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
