//! Runs a program with bounded time and output, and leaves none of its processes behind.
//!
//! The program leads a process group, which is killed when it exits, at the deadline, or when it prints too much.
//! Processes that left the group are found by a token in their environment.

use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

/// Limits on one run.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) time: Duration,
    pub(super) stdout_bytes: usize,
    /// Of the error output, this much of the end is kept.
    pub(super) stderr_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(1),
            stdout_bytes: 32 << 20,
            stderr_bytes: 4 << 10,
        }
    }
}

/// Why a program did not succeed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("failed to start the program")]
    Start(#[source] io::Error),
    #[error("the program did not exit within {0} seconds")]
    Deadline(u64),
    #[error("the program printed more than {0} bytes")]
    TooMuchOutput(usize),
    #[error("the program was killed by signal {signal}{stderr}")]
    Signal { signal: i32, stderr: String },
    #[error("the program exited with code {code}{stderr}")]
    Exit { code: i32, stderr: String },
    #[error("the program left a process behind that keeps its output open")]
    OutputKeptOpen,
    #[error("failed to wait for the program")]
    Wait(#[source] io::Error),
}

/// The environment variable whose value marks all processes of one run.
const TOKEN: &str = "OUTRIGGER_PLUGIN_RUN";

enum Event {
    Exited,
    TooMuchOutput,
}

/// Runs the program, writes `input` to it, and returns what it printed.
pub(super) fn run(
    program: &Path,
    arguments: &[String],
    folder: &Path,
    input: Vec<u8>,
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let token = format!(
        "{}-{}",
        std::process::id(),
        RUNS.fetch_add(1, Ordering::Relaxed)
    );
    let mut child = start(program, arguments, folder, &token).map_err(Error::Start)?;
    let (events, received) = mpsc::channel();
    let output = capture(
        child.stdout.take(),
        limits.stdout_bytes,
        Keep::Start(events.clone()),
    );
    let errors = capture(child.stderr.take(), limits.stderr_bytes, Keep::End);
    feed(&mut child, input);
    watch(&child, events);
    let outcome = wait(&received, limits);
    kill_all(&child, &token);
    let status = child.wait().map_err(Error::Wait)?;
    outcome?;
    // The processes are dead, so that the pipes are closed, unless one escaped.
    let output = output
        .recv_timeout(HUNT)
        .map_err(|_| Error::OutputKeptOpen)?;
    let errors = errors
        .recv_timeout(HUNT)
        .map_err(|_| Error::OutputKeptOpen)?;
    if output.len() > limits.stdout_bytes {
        return Err(Error::TooMuchOutput(limits.stdout_bytes));
    }
    check_status(status, &errors)?;
    Ok(output)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that starts plugins"
)]
fn start(program: &Path, arguments: &[String], folder: &Path, token: &str) -> io::Result<Child> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .env(TOKEN, token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

enum Keep {
    /// Stop at the limit, and report it.
    Start(Sender<Event>),
    /// Keep the end.
    End,
}

/// Reads a pipe on a thread of its own.
fn capture(
    pipe: Option<impl Read + Send + 'static>,
    limit: usize,
    keep: Keep,
) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut pipe) = pipe else {
            return sender.send(kept);
        };
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..length]);
            match &keep {
                Keep::Start(events) if kept.len() > limit => {
                    // The receiver is gone if the run has ended otherwise.
                    let _ = events.send(Event::TooMuchOutput);
                    break;
                }
                Keep::End if kept.len() > limit => {
                    kept.drain(..kept.len() - limit);
                }
                _ => {}
            }
        }
        sender.send(kept)
    });
    receiver
}

/// Writes the request on a thread of its own: a program may exit without reading it.
fn feed(child: &mut Child, input: Vec<u8>) {
    if let Some(mut stdin) = child.stdin.take() {
        thread::spawn(move || stdin.write_all(&input));
    }
}

/// Reports the exit of the program, without reaping it, so that its id stays valid.
fn watch(child: &Child, events: Sender<Event>) {
    let pid = pid(child);
    thread::spawn(move || {
        if let Some(pid) = pid {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        }
        // The receiver is gone if the run has ended otherwise.
        let _ = events.send(Event::Exited);
    });
}

fn wait(events: &Receiver<Event>, limits: &Limits) -> Result<(), Error> {
    match events.recv_timeout(limits.time) {
        Ok(Event::Exited) => Ok(()),
        Ok(Event::TooMuchOutput) => Err(Error::TooMuchOutput(limits.stdout_bytes)),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Err(Error::Deadline(limits.time.as_secs()))
        }
    }
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// How long processes that fork all the time are hunted.
const HUNT: Duration = Duration::from_secs(2);

/// Kills the group, and then what left it. New processes may appear meanwhile, so that this repeats until none is found.
fn kill_all(child: &Child, token: &str) {
    let Some(group) = pid(child) else {
        return;
    };
    let start = Instant::now();
    while start.elapsed() < HUNT {
        // The group is gone if the program was its only process.
        let _ = kill_process_group(group, Signal::KILL);
        let marked = marked(token, group);
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            // The process may have exited meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The living processes whose environment has the token, apart from the program itself.
fn marked(token: &str, program: Pid) -> Vec<Pid> {
    let variable = format!("{TOKEN}={token}");
    let Ok(processes) = fs_err::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = processes.filter_map(|entry| {
        let pid = Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)?;
        // Processes of others cannot be read, and zombies have no environment.
        let environment = fs_err::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
        let is_marked = environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == variable.as_bytes());
        (pid != program && is_marked).then_some(pid)
    });
    pids.collect()
}

fn check_status(status: ExitStatus, errors: &[u8]) -> Result<(), Error> {
    let text = String::from_utf8_lossy(errors);
    let text = text.trim();
    let stderr = if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Error::Exit { code, stderr }),
        (None, signal) => Err(Error::Signal {
            signal: signal.unwrap_or_default(),
            stderr,
        }),
    }
}
