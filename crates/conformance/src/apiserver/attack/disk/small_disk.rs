//! A file system of a fixed size in memory, which only programs that enter its mount namespace see.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use crate::process::command;

/// Unmounted when dropped and all programs that entered it have ended.
#[derive(Debug)]
pub(super) struct SmallDisk {
    /// Keeps the namespace.
    holder: Child,
}

impl SmallDisk {
    /// Mounts a disk of so many bytes on a new directory.
    pub(super) async fn mount(directory: &Path, bytes: u64) -> anyhow::Result<Self> {
        fs_err::create_dir(directory)?;
        let script = "mount -t tmpfs -o size=$1,mode=0700 tmpfs \"$2\" && echo mounted && exec sleep infinity";
        let mut holder = command("unshare");
        holder
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "sh",
                "-c",
                script,
                "sh",
            ])
            .arg(bytes.to_string())
            .arg(directory)
            .stdout(Stdio::piped());
        let mut holder = holder.spawn().context("failed to start unshare")?;
        let stdout = holder.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        ensure!(line == "mounted\n", "failed to mount a file system");
        Ok(Self { holder })
    }

    /// The command before that of a program that is to see the disk.
    pub(super) fn enter(&self) -> Vec<String> {
        let pid = self.holder.id().unwrap_or_default();
        let words = ["nsenter", "--user", "--mount", "--preserve-credentials"];
        let mut words: Vec<String> = words.map(str::to_owned).into();
        words.push(format!("--target={pid}"));
        words
    }
}
