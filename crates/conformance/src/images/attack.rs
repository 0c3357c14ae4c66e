//! Hostile and unlucky cases of images and registries: each ends with a clear error or completely, in bounded time and
//! memory.

mod answers;
mod archives;
mod content;
mod hostile_registry;
mod registry;
mod tmpfs;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use wait4::Wait4 as _;

use super::registries::Registry;
use crate::attack::{self, Args, Named, Outcome};
use crate::process::{command_in, open_log};

/// The most memory that a client may use.
const MAX_MEMORY: u64 = 64 << 20;

/// The most time that a client may take.
const MAX_TIME: Duration = Duration::from_mins(3);

type RunFn = dyn Fn(Scene) -> Pin<Box<dyn Future<Output = anyhow::Result<Outcome>>>>;

struct Attack {
    name: &'static str,
    is_short: bool,
    run: Box<RunFn>,
}

/// The binary, an empty folder, and how long a client may take.
#[derive(Debug, Clone)]
struct Scene {
    binary: PathBuf,
    folder: PathBuf,
    max_time: Duration,
}

/// How a client ended.
#[derive(Debug)]
struct Used {
    is_success: bool,
    stdout: String,
    stderr: String,
    peak: u64,
}

impl Named for Attack {
    fn name(&self) -> &str {
        self.name
    }

    fn is_short(&self) -> bool {
        self.is_short
    }
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let mut attacks = answers::attacks();
    attacks.extend(content::attacks());
    attacks.extend(archives::attacks());
    attacks.extend(registry::attacks());
    attack::run(args, &attacks, async |attack: &Attack, directory| {
        let scene = Scene {
            binary: binary.to_owned(),
            folder: directory.to_owned(),
            max_time: MAX_TIME * args.patience,
        };
        (attack.run)(scene).await
    })
    .await
}

impl Attack {
    /// An attack that takes seconds.
    fn new<F: Future<Output = anyhow::Result<Outcome>> + 'static>(
        name: &'static str,
        run: impl Fn(Scene) -> F + 'static,
    ) -> Self {
        Self {
            name,
            is_short: true,
            run: Box::new(move |scene| Box::pin(run(scene))),
        }
    }

    fn long(mut self) -> Self {
        self.is_short = false;
        self
    }
}

impl Scene {
    /// Runs a command of the binary to its end, which must be within the limits.
    async fn client(&self, args: &[&str]) -> anyhow::Result<Used> {
        self.start(args)?.await
    }

    /// Starts a command, and returns a future that waits for its end.
    fn start(
        &self,
        args: &[&str],
    ) -> anyhow::Result<impl Future<Output = anyhow::Result<Used>> + use<>> {
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| {
            let number = fastrand::u64(..);
            self.folder.join(format!("{name}-{number}"))
        });
        let mut client = command_in(&self.folder, &self.binary);
        client.args(args).env("HOME", &self.folder);
        client.stdout(open_log(&stdout)?).stderr(open_log(&stderr)?);
        let child = client.spawn()?;
        let waiting = tokio::task::spawn_blocking(move || child.wait4());
        let finished = tokio::time::timeout(self.max_time, waiting);
        Ok(async move {
            let used = finished
                .await
                .context("the client did not end in time")???;
            let used = Used {
                is_success: used.status.success(),
                stdout: fs_err::read_to_string(stdout)?,
                stderr: fs_err::read_to_string(stderr)?,
                peak: used.rusage.maxrss,
            };
            ensure!(
                used.peak <= MAX_MEMORY,
                "the client used {} MiB",
                used.peak >> 20
            );
            Ok(used)
        })
    }

    /// Starts a registry of ours with its data in a folder.
    async fn registry(&self, data: &str) -> anyhow::Result<Registry> {
        Registry::outrigger(&self.binary, &self.folder.join(data)).await
    }

    /// Verifies all content of a registry.
    async fn check(&self, registry: &Registry) -> anyhow::Result<()> {
        let data = registry.data.display().to_string();
        let checked = self.client(&["registry", "check", "--data", &data]).await?;
        ensure!(checked.is_success, "{}", checked.stderr);
        Ok(())
    }
}

impl Used {
    /// The client must have failed with this text.
    fn failed_with(&self, expected: &str) -> anyhow::Result<Outcome> {
        ensure!(!self.is_success, "the client accepted it");
        let mut lines = self.stderr.lines().rev();
        let line = lines.find(|line| line.contains(expected));
        let line = line.with_context(|| format!("expected {expected:?} in: {}", self.stderr))?;
        Ok(self.outcome(line))
    }

    fn succeeded(&self) -> anyhow::Result<&Self> {
        ensure!(self.is_success, "the client failed: {}", self.stderr);
        Ok(self)
    }

    fn outcome(&self, answer: &str) -> Outcome {
        Outcome {
            answer: answer.trim().chars().take(90).collect(),
            peak: Some(self.peak),
            neighbor: None,
        }
    }
}
