//! Opens packages of any form, with a progress line: a large one is read for a while.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use outrigger_expansion::archive::Reader;
use outrigger_expansion::{Built, Opened, Progress, open};
use tokio::time::timeout;

use crate::commands::progress_line::{self, bytes_line};
use crate::commands::runtime::{self, CLEAN_UP};
use crate::commands::size::Size;
use crate::plural::counted;
use crate::report::{hinted, note};

/// The base of a delta that a command reads.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BaseFlag {
    /// Package that a delta was built from
    #[arg(long, value_name = "PACKAGE")]
    base: Option<PathBuf>,
}

impl BaseFlag {
    /// Opens a folder, or reads and verifies a built package.
    pub(crate) fn open(&self, path: &Path) -> anyhow::Result<Opened> {
        let (path, base) = (path.to_owned(), self.base.clone());
        reading(move |progress| {
            open(&path, base.as_deref(), progress).map_err(|error| {
                let hint = error.hint();
                hinted(error, hint)
            })
        })
    }

    /// The path of the base.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// Opens the base, if there is one.
    pub(crate) fn reader(&self, progress: &Arc<Progress>) -> anyhow::Result<Option<Reader>> {
        let base = self.base.as_deref();
        base.map(|path| reader(path, progress)).transpose()
    }
}

/// Opens a built package: its documents are verified, and its content is not read yet.
pub(crate) fn reader(path: &Path, progress: &Arc<Progress>) -> anyhow::Result<Reader> {
    let input = outrigger_expansion::find_built(path).map_err(archive_error)?;
    Reader::open(&input, progress).map_err(archive_error)
}

/// Adds the hint of an error of a built package.
pub(crate) fn archive_error(error: outrigger_expansion::archive::Error) -> anyhow::Error {
    let hint = error.hint();
    hinted(error, hint)
}

/// Runs work that reads packages, and shows its progress.
pub(crate) fn reading<T: Send + 'static>(
    work: impl FnOnce(&Arc<Progress>) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let progress = Arc::new(Progress::default());
    runtime::run(async {
        let shared = Arc::clone(&progress);
        let work = tokio::task::spawn_blocking(move || work(&shared));
        let line = |elapsed| line(&progress, elapsed);
        progress_line::shown(line, work).await?
    })
}

/// Runs work that writes files, and shows its progress. If the user interrupts it, it cleans up.
pub(super) fn writing<T>(
    work: impl AsyncFnOnce(Arc<Progress>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let progress = Arc::new(Progress::default());
    runtime::run(async {
        let interrupted = runtime::shutdown_signal(None)?;
        let line = |elapsed| line(&progress, elapsed);
        let work = progress_line::shown(line, work(Arc::clone(&progress)));
        let mut work = Box::pin(work);
        tokio::select! {
            result = &mut work => result,
            () = interrupted => {
                progress.cancel();
                match timeout(CLEAN_UP, work).await {
                    // It was complete already.
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(_)) | Err(_) => Err(anyhow!("interrupted; nothing was written")),
                }
            }
        }
    })
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let bytes = progress.bytes();
    bytes_line("", bytes, bytes.0, elapsed)
}

/// Says what was verified of a built package.
pub(super) fn note_built(path: &Path, built: &Built) {
    let entries = built.lock.entries().count();
    let mut text = format!(
        "{}: {}, {}, every digest verified, {}",
        path.display(),
        Size::from(built.size),
        counted(entries, "file"),
        if built.is_signed {
            "signed; `outrigger expansion verify` checks by whom"
        } else {
            "not signed"
        }
    );
    if let Some(base) = &built.root.base {
        text.push_str(&format!(", a delta of {}", base.title()));
    }
    note(&text);
}
