//! Performs a copy: compares, streams an archive, and waits for the result.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::answers::Answers;
use super::plan::{Plan, plan, program};
use super::tree::{File, Tree, hexadecimal};
use super::{CopyError, CopyReport, archive};
use crate::channel::Input;
use crate::machine::Shell;
use crate::preamble::Preamble;
use crate::shell::{Program, quote};
use crate::{Machine, RunError};

/// How long a machine may take to start, and to accept a piece of data.
pub(super) const STALL: Duration = Duration::from_mins(1);
/// How fast a machine digests files at least, in bytes a second.
const DIGEST_RATE: u64 = 5_000_000;
/// The bytes to send at once.
const CHUNK: usize = 64 * 1024;
/// The longest answer apart from what is said about each file.
const MAX_MESSAGE: usize = 64 * 1024;
/// How long a machine may take for each file, whatever its size.
pub(super) const FILE_TIME: Duration = Duration::from_millis(10);

impl Machine {
    /// Makes the files of the machine those of the tree. Transfers only what differs; other files are left alone.
    pub async fn copy(&self, tree: &Tree) -> Result<CopyReport, CopyError> {
        let (mut shell, preamble) = self.start_with_state(&program(tree)).await?;
        let result = self.compare_and_transfer(tree, &mut shell, preamble).await;
        let Shell {
            mut input, events, ..
        } = shell;
        input.close(events).await;
        result
    }

    /// Starts a program that knows the state folder and the marker of its answer, and reads data.
    pub(super) async fn start_with_state(
        &self,
        program: &str,
    ) -> Result<(Shell<'_>, Preamble), RunError> {
        let preamble = Preamble::until_random();
        let marker = preamble.marker();
        let starting = async {
            let state = quote(&self.state_folder().await?);
            let state = format!("state={state}; state=${{state:-${{HOME:-/}}/.outrigger}}");
            let program = format!("m={marker} {state}\n{program}");
            self.start(Program::BeforeInput(&program)).await
        };
        let started = timeout(STALL, starting).await;
        let started = started.map_err(|_| self.not_started(STALL))??;
        Ok((started, preamble))
    }

    async fn compare_and_transfer(
        &self,
        tree: &Tree,
        shell: &mut Shell<'_>,
        preamble: Preamble,
    ) -> Result<CopyReport, CopyError> {
        let mut answers = Answers::new(self, &mut shell.events, preamble, max_answer(tree));
        let limit = comparison_time(tree);
        let answer = timeout(limit, answers.until_line("end")).await;
        let answer = answer.map_err(|_| CopyError::ComparisonTimeout {
            machine: self.name().to_owned(),
            files: tree.files().len(),
            timeout: limit,
        })??;
        let plan = plan(tree, &answer, self.name())?;
        if !plan.is_empty() {
            self.transfer(&plan, &mut shell.input, &mut answers).await?;
        }
        Ok(plan.report())
    }

    async fn transfer(
        &self,
        plan: &Plan<'_>,
        input: &mut Input,
        answers: &mut Answers<'_>,
    ) -> Result<(), CopyError> {
        let mut sender = Sender::new(input);
        let limit = STALL + digest_time(plan.bytes()) + FILE_TIME * count(plan.send.len());
        let message = {
            let sending = sender.send_all(plan);
            tokio::pin!(sending);
            tokio::select! {
                // The machine gives up before it has read everything.
                message = answers.rest() => message?,
                sent = &mut sending => {
                    sent.map_err(|error| error.into_copy_error(self))?;
                    let message = timeout(limit, answers.rest()).await;
                    message.map_err(|_| CopyError::InstallTimeout {
                        machine: self.name().to_owned(),
                        files: plan.send.len(),
                        timeout: limit,
                    })??
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

/// How long a machine may take to compare.
fn comparison_time(tree: &Tree) -> Duration {
    STALL + digest_time(tree.size()) + FILE_TIME * count(tree.files().len())
}

fn count(files: usize) -> u32 {
    u32::try_from(files).unwrap_or(u32::MAX)
}

/// The longest answer: for each path what it is, its digest and name, its mode and owner, and where a link leads.
pub(super) fn max_answer(tree: &Tree) -> usize {
    let paths = tree.files().keys().chain(tree.folders().keys());
    let sizes = paths.map(|path| 200 + 2 * path.len());
    MAX_MESSAGE + sizes.sum::<usize>()
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
        let list = |paths: Vec<String>| paths.iter().map(|path| format!("{path}\n")).collect();
        let made = plan.topmost_new_folders().into_iter();
        let made: String = list(made.map(ToOwned::to_owned).collect());
        let shared: String = list(plan.created_in_shared());
        let start = format!("{control}\n{made}\n{shared}\n");
        self.buffer.extend_from_slice(start.as_bytes());
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
