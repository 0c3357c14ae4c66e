//! `cargo xtask dist`: everything that is needed to distribute a build, in `dist/`.
//!
//! The binary, completion scripts, an image of the binary as an OCI layout, and checksums. The same binary gives the same bytes.

mod image;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use sha2::{Digest as _, Sha256};

use crate::build;
use crate::process::{command, output};
use crate::tidy;

/// The target of static binaries. Its C libraries are compiled with musl-gcc (on Debian in the package `musl-tools`).
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Package this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The folder to write
    #[arg(long, value_name = "DIR", default_value = "dist")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = tidy::root();
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => build::static_release(STATIC_TARGET)?,
    };
    let folder = root.join(&args.output);
    if folder.exists() {
        let is_ours = folder.join("SHA256SUMS").is_file();
        ensure!(is_ours, "{} was not written by this task", folder.display());
        fs::remove_dir_all(&folder)?;
    }
    write(&binary, &folder)
}

/// Writes the folder.
fn write(binary: &Path, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder.join("completions"))?;
    fs::copy(binary, folder.join("outrigger"))?;
    for shell in SHELLS {
        let script = output(command(binary, folder).args(["completion", shell]))?;
        fs::write(
            folder
                .join("completions")
                .join(format!("outrigger.{shell}")),
            script,
        )?;
    }
    image::write(&fs::read(binary)?, &folder.join("image"))?;
    let sums = checksums(folder)?;
    fs::write(folder.join("SHA256SUMS"), sums)?;
    Ok(())
}

/// The checksums of all files, in the format of `sha256sum`.
fn checksums(folder: &Path) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path
                .strip_prefix(folder)
                .context("a file outside of its folder")?;
            let digest = digest(&fs::read(&path)?);
            lines.push(format!("{digest}  {}\n", name.display()));
        }
    }
    lines.sort_by(|a, b| a[64..].cmp(&b[64..]));
    Ok(lines.concat())
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
