//! Shells on this machine.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use bytes::BytesMut;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::channel::{Event, Events, Input, Status};

/// The bytes to read at once.
const CHUNK: usize = 16 * 1024;

/// Starts a command line in a process group of its own.
pub(crate) fn exec(command: &str) -> std::io::Result<(Input, Events)> {
    let mut child = shell(command).spawn()?;
    let input = Input::Local(child.stdin.take());
    let events = LocalEvents {
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        child,
        is_ended: false,
    };
    Ok((input, Events::Local(Box::new(events))))
}

fn shell(command: &str) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port that runs commands on the local machine"
    )]
    let mut process = std::process::Command::new("/bin/sh");
    process
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = Command::from(process);
    process.process_group(0);
    process
}

/// The pipes of a process.
#[derive(Debug)]
pub(crate) struct LocalEvents {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    is_ended: bool,
}

impl LocalEvents {
    /// The next event. Cancel safe: nothing is read that is not returned.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            if self.is_ended && self.stdout.is_none() && self.stderr.is_none() {
                return Event::Closed;
            }
            let mut buffer = BytesMut::with_capacity(CHUNK);
            let mut errors = BytesMut::new();
            tokio::select! {
                read = read(&mut self.stdout, &mut buffer) => match read {
                    Some(_) => return Event::Stdout(buffer.freeze()),
                    None => self.stdout = None,
                },
                read = read(&mut self.stderr, &mut errors) => match read {
                    Some(_) => return Event::Stderr(errors.freeze()),
                    None => self.stderr = None,
                },
                status = self.child.wait(), if !self.is_ended => {
                    self.is_ended = true;
                    return status.map_or(Event::Closed, |status| Event::Ended(ended(status)));
                }
            }
        }
    }
}

/// Reads from an open pipe; `None` at its end. Waits for ever if it is closed already.
async fn read<R>(pipe: &mut Option<R>, buffer: &mut BytesMut) -> Option<usize>
where
    R: tokio::io::AsyncRead + Unpin,
{
    let Some(pipe) = pipe else {
        return std::future::pending().await;
    };
    buffer.reserve(CHUNK);
    pipe.read_buf(buffer).await.ok().filter(|count| *count > 0)
}

fn ended(status: std::process::ExitStatus) -> Status {
    if let Some(signal) = status.signal() {
        return Status::Killed(signal_name(signal));
    }
    let code = status.code().unwrap_or(-1);
    Status::Exited(u32::try_from(code).unwrap_or(255))
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        6 => "ABRT",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        15 => "TERM",
        other => return other.to_string(),
    };
    name.to_owned()
}
