//! Performs a copy: compares, streams an archive, and waits for the result.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::plan::{Plan, plan, program};
use super::tree::{File, Tree, hexadecimal};
use super::{CopyError, CopyReport, archive};
use crate::channel::{Event, Events, Input};
use crate::machine::Shell;
use crate::output::Captured;
use crate::shell::Program;
use crate::{Machine, RunError};

/// How long a machine may take to accept a piece of data, or to compare.
const STALL: Duration = Duration::from_mins(1);
/// How fast a machine digests files at least, in bytes a second.
const DIGEST_RATE: u64 = 5_000_000;
/// The bytes to send at once.
const CHUNK: usize = 64 * 1024;
/// The longest answer: a digest and a path for each file.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

impl Machine {
    /// Makes the files of the machine those of the tree. Transfers only what differs; other files are left alone.
    pub async fn copy(&self, tree: &Tree) -> Result<CopyReport, CopyError> {
        let compare = program(tree);
        let shell = timeout(STALL, self.start(Program::BeforeInput(&compare))).await;
        let mut shell = shell.map_err(|_| self.stalled(STALL))??;
        let mut answers = Answers::new(self, &mut shell.events);
        let comparison = STALL + digest_time(tree.files.values().map(|file| file.size).sum());
        let answer = timeout(comparison, answers.until_line("end")).await;
        let answer = answer.map_err(|_| self.stalled(comparison))??;
        let plan = plan(tree, &answer, self.name())?;
        let result = if plan.is_empty() {
            Ok(())
        } else {
            self.transfer(&plan, &mut shell.input, &mut answers).await
        };
        let Shell {
            mut input, events, ..
        } = shell;
        input.close(events).await;
        result.map(|()| plan.report())
    }

    async fn transfer(
        &self,
        plan: &Plan<'_>,
        input: &mut Input,
        answers: &mut Answers<'_>,
    ) -> Result<(), CopyError> {
        let mut sender = Sender::new(input);
        let limit = STALL + digest_time(plan.bytes());
        let message = {
            let sending = sender.send_all(plan);
            tokio::pin!(sending);
            tokio::select! {
                // The machine gives up before it has read everything.
                message = answers.rest() => message?,
                sent = &mut sending => {
                    sent.map_err(|error| error.into_copy_error(self))?;
                    let message = timeout(limit, answers.rest()).await;
                    message.map_err(|_| self.stalled(limit))??
                }
            }
        };
        if message.trim_end() == "done" {
            return Ok(());
        }
        let message = message.trim().trim_start_matches("error ");
        Err(CopyError::Write {
            machine: self.name().to_owned(),
            folder: plan.common_folder().to_owned(),
            message: message.replace(&format!("{}/", plan.stage()), ""),
        })
    }

    fn stalled(&self, timeout: Duration) -> CopyError {
        CopyError::Stalled {
            machine: self.name().to_owned(),
            timeout,
        }
    }
}

fn digest_time(bytes: u64) -> Duration {
    Duration::from_secs(bytes / DIGEST_RATE)
}

/// What the machine prints.
struct Answers<'a> {
    machine: &'a Machine,
    events: &'a mut Events,
    unread: Vec<u8>,
    errors: Captured,
}

impl<'a> Answers<'a> {
    fn new(machine: &'a Machine, events: &'a mut Events) -> Self {
        Self {
            machine,
            events,
            unread: Vec::new(),
            errors: Captured::default(),
        }
    }

    /// All lines before this one.
    async fn until_line(&mut self, line: &str) -> Result<String, RunError> {
        let end = format!("\n{line}\n");
        let mut searched = 0;
        loop {
            let unread = self.unread.get(searched..).unwrap_or_default();
            if let Some(at) = find(unread, end.as_bytes()) {
                let rest = self.unread.split_off(searched + at + end.len());
                let answer = std::mem::replace(&mut self.unread, rest);
                return Ok(String::from_utf8_lossy(&answer).into_owned());
            }
            searched = self.unread.len().saturating_sub(end.len());
            if !self.read().await {
                return Err(self.unexpected());
            }
        }
    }

    /// Everything until the shell ends. Cancel safe.
    async fn rest(&mut self) -> Result<String, RunError> {
        while self.read().await {}
        if self.unread.is_empty() {
            return Err(self.unexpected());
        }
        Ok(String::from_utf8_lossy(&self.unread).into_owned())
    }

    /// Whether something was read.
    async fn read(&mut self) -> bool {
        match self.events.next().await {
            Event::Stdout(data) if self.unread.len() < MAX_ANSWER => {
                self.unread.extend_from_slice(&data);
            }
            Event::Stderr(data) => self.errors.push(&data, 2000),
            Event::Stdout(_) | Event::Ended(_) => {}
            Event::Refused | Event::Closed => return false,
        }
        true
    }

    fn unexpected(&self) -> RunError {
        if self.errors.is_empty() {
            return self.machine.lost();
        }
        RunError::UnexpectedAnswer {
            machine: self.machine.name().to_owned(),
            answer: self.errors.text().trim().to_owned(),
        }
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Why sending stopped.
enum SendError {
    Copy(CopyError),
    Stalled,
}

impl SendError {
    fn into_copy_error(self, machine: &Machine) -> CopyError {
        match self {
            Self::Copy(error) => error,
            Self::Stalled => machine.stalled(STALL),
        }
    }
}

/// Writes the archive, in pieces of a useful size.
struct Sender<'a> {
    input: &'a mut Input,
    buffer: BytesMut,
    /// The bytes of the archive so far.
    size: u64,
}

impl<'a> Sender<'a> {
    fn new(input: &'a mut Input) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            size: 0,
        }
    }

    async fn send_all(&mut self, plan: &Plan<'_>) -> Result<(), SendError> {
        let control = plan.control_folder();
        let mut lines = vec![control.clone()];
        lines.extend(plan.created_in_shared());
        self.buffer
            .extend_from_slice(format!("{}\n\n", lines.join("\n")).as_bytes());
        for (path, mode) in &plan.new_folders {
            self.push(&archive::header(path, *mode, 0, tar::EntryType::Directory))
                .await?;
        }
        for folder in plan.stage_folders() {
            let header = archive::header(&folder, 0o700, 0, tar::EntryType::Directory);
            self.push(&header).await?;
        }
        let list = format!("{control}/digests");
        let script = plan.install_script(&list);
        let install = format!("{control}/install");
        self.push(&archive::file(&install, 0o600, script.as_bytes()))
            .await?;
        self.push(&archive::file(&list, 0o600, plan.digest_list().as_bytes()))
            .await?;
        for (path, file) in &plan.send {
            self.send_file(&plan.staged(path), file).await?;
        }
        self.push(&archive::end(self.size)).await?;
        self.flush().await?;
        self.input.end().await;
        Ok(())
    }

    async fn send_file(&mut self, staged: &str, file: &File) -> Result<(), SendError> {
        let header = archive::header(staged, file.mode, file.size, tar::EntryType::Regular);
        self.push(&header).await?;
        match &file.content {
            Some(content) => self.push(content).await?,
            None => self.stream(file).await?,
        }
        self.push(&archive::padding(file.size)).await
    }

    /// Sends a file piece by piece, and makes sure that it is the one that was scanned.
    async fn stream(&mut self, file: &File) -> Result<(), SendError> {
        let mut source = Source::open(&file.source, file.size).await?;
        let mut hasher = Sha256::new();
        while let Some(data) = source.next().await? {
            hasher.update(&data);
            self.push(&data).await?;
        }
        if hexadecimal(&hasher.finalize()) != file.digest {
            return Err(source.changed());
        }
        Ok(())
    }

    async fn push(&mut self, data: &[u8]) -> Result<(), SendError> {
        self.size += data.len() as u64;
        self.buffer.extend_from_slice(data);
        if self.buffer.len() < CHUNK {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), SendError> {
        let data = self.buffer.split().freeze();
        match timeout(STALL, self.input.send(data)).await {
            Ok(Ok(())) => Ok(()),
            // The answer of the machine says why.
            Ok(Err(_)) => std::future::pending().await,
            Err(_) => Err(SendError::Stalled),
        }
    }
}

/// A file that is read in the background, with bounded memory.
struct Source {
    path: PathBuf,
    file: Option<fs_err::File>,
    left: u64,
    size: u64,
}

impl Source {
    async fn open(path: &Path, size: u64) -> Result<Self, SendError> {
        let mut source = Self {
            path: path.to_owned(),
            file: None,
            left: size,
            size,
        };
        let path = path.to_owned();
        source.file = Some(source.background(move || fs_err::File::open(path)).await?);
        Ok(source)
    }

    /// The next piece; `None` when all bytes that were announced are read.
    async fn next(&mut self) -> Result<Option<Bytes>, SendError> {
        let Some(mut file) = self.file.take() else {
            return Ok(None);
        };
        let size = self.size;
        if self.left == 0 {
            let length = self.background(move || file.metadata().map(|data| data.len()));
            return if length.await? == size {
                Ok(None)
            } else {
                Err(self.changed())
            };
        }
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(CHUNK);
        let read = self.background(move || {
            let mut data = vec![0; want];
            let count = file.read(&mut data)?;
            data.truncate(count);
            Ok((data, file))
        });
        let (data, file) = read.await?;
        if data.is_empty() {
            return Err(self.changed());
        }
        self.left -= data.len() as u64;
        self.file = Some(file);
        Ok(Some(data.into()))
    }

    async fn background<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, SendError> {
        let result = tokio::task::spawn_blocking(work).await;
        let result = result.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        result.map_err(|source| {
            SendError::Copy(CopyError::Source {
                path: self.path.clone(),
                source,
            })
        })
    }

    fn changed(&self) -> SendError {
        SendError::Copy(CopyError::SourceChanged(self.path.clone()))
    }
}

#[cfg(test)]
mod tests;
