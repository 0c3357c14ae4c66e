//! A small disk: a tmpfs, which is unmounted on drop. It needs root rights.

use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::process::command_in;

#[derive(Debug)]
pub(super) struct Tmpfs {
    path: PathBuf,
}

impl Tmpfs {
    /// Mounts a disk of this many MiB.
    pub(super) fn mount(path: &Path, size: u32) -> anyhow::Result<Self> {
        fs_err::create_dir_all(path)?;
        let disk = Self {
            path: path.to_owned(),
        };
        disk.run(
            "mount",
            &["-t", "tmpfs", "-o", &format!("size={size}m"), "tmpfs"],
        )?;
        Ok(disk)
    }

    pub(super) fn resize(&self, size: u32) -> anyhow::Result<()> {
        self.run("mount", &["-o", &format!("remount,size={size}m")])
    }

    /// Makes the disk read-only. No file may be open for writing.
    pub(super) fn make_read_only(&self) -> anyhow::Result<()> {
        self.run("mount", &["-o", "remount,ro"])
    }

    fn run(&self, program: &str, args: &[&str]) -> anyhow::Result<()> {
        let mut command = command_in(Path::new("/"), program);
        let output = command.args(args).arg(&self.path).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} failed: {stderr}");
        Ok(())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // A process that was killed may not have closed its files yet.
        let _ = self.run("umount", &["--lazy"]);
    }
}
