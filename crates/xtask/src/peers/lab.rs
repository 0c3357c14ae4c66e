//! Makes the artifacts of the lab: its programs, the root file system of machines, and an archive for each image.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use fs_err as fs;
use outrigger_peers::lab::Release;
use outrigger_peers::{self as peers};

mod archive;
mod images;
mod root;

/// Installs what is missing. A lock makes other processes wait.
pub(crate) fn install(release: Release) -> anyhow::Result<()> {
    super::install(release.peers)?;
    let folder = peers::cache()?.join("lab");
    fs::create_dir_all(&folder)?;
    let lock = fs::File::create(folder.join("lock"))?;
    lock.file().lock().context("failed to lock the lab")?;
    make(&peers::lab::root()?, root::make)?;
    make(&release.images()?, |folder| images::make(release, folder))?;
    release.installed()
}

/// Makes a folder in a scratch directory and renames it, so that it is complete if it exists.
fn make(target: &Path, make: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let name = target.file_name().unwrap_or_default().display();
    if target.exists() {
        super::log(&format!("{name}: {}", target.display()));
        return Ok(());
    }
    super::log(&format!("{name}: installing"));
    let start = Instant::now();
    let parent = target.parent().context("the lab is in a folder")?;
    let scratch = tempfile::tempdir_in(parent)?;
    let made = scratch.path().join("made");
    fs::create_dir(&made)?;
    make(&made).with_context(|| format!("failed to make {}", target.display()))?;
    fs::rename(made, target)?;
    let seconds = start.elapsed().as_secs_f64();
    super::log(&format!("{name}: installed in {seconds:.0} s"));
    Ok(())
}
