//! The namespaces of a lab, and the programs that run in them.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fs_err::File;

use super::control_groups;
use crate::machines::{command, generate_key, run};

const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Scripts that are run by name.
const SCRIPTS: &[(&str, &str)] = &[
    ("init.sh", include_str!("init.sh")),
    ("boot.sh", include_str!("boot.sh")),
    ("power_on.sh", include_str!("power_on.sh")),
    ("power_off.sh", include_str!("power_off.sh")),
];

/// Running namespaces. Dropping them ends all their processes and removes the directory.
#[derive(Debug)]
pub(super) struct Namespaces {
    shell: Child,
    directory: PathBuf,
    id: String,
    /// The first process, as this process sees it.
    init: u32,
    network: File,
}

impl Namespaces {
    pub(super) fn start() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("outrigger-lab-")
            .tempdir()?;
        generate_key(&directory.path().join("user_key"))?;
        for (name, text) in SCRIPTS {
            fs_err::write(directory.path().join(name), text)?;
        }
        let id = control_groups::new_id()?;
        let mut shell = command("sh")
            .args(["-c", include_str!("outer.sh"), "sh", &id])
            .current_dir(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(directory.path().join("lab.log"))?.into_file())
            .process_group(0)
            .spawn()
            .context("failed to start a shell")?;
        // From now on the shell removes it.
        let directory = directory.keep();
        let init = wait_for_init(&mut shell, &directory)?;
        let network = File::open(format!("/proc/{init}/ns/net"))?;
        Ok(Self {
            shell,
            directory,
            id,
            init,
            network,
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn network(&self) -> &File {
        &self.network
    }

    /// A path in the file system of the lab, as this process sees it.
    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let directory = self.directory.strip_prefix("/").unwrap_or(&self.directory);
        PathBuf::from(format!("/proc/{}/root", self.init))
            .join(directory)
            .join(path)
    }

    /// Runs a script of the lab, with the lab's directory as its first argument.
    pub(super) fn run_script(&self, script: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = self.command("sh");
        command
            .arg(self.directory.join(script))
            .arg(&self.directory);
        run(command.args(arguments)).map(drop)
    }

    /// A program in the namespaces of the lab.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = command("nsenter");
        command
            .args(["--target", &self.init.to_string()])
            .args(["--pid", "--mount", "--net", program])
            .stdin(Stdio::null());
        command
    }
}

/// The process id of the lab's first process, when it is ready.
fn wait_for_init(shell: &mut Child, directory: &Path) -> anyhow::Result<u32> {
    let deadline = Instant::now() + START_TIMEOUT;
    let mut pid = String::new();
    while pid.is_empty() {
        // The shell removes the directory when the lab has ended.
        let exited = shell.try_wait()?.is_some();
        ensure!(!exited, "the lab ended; unshare, mount or ip failed");
        ensure!(Instant::now() < deadline, "the lab did not start");
        thread::sleep(Duration::from_millis(5));
        if let Ok(mut file) = File::open(directory.join("pid")) {
            file.read_to_string(&mut pid)?;
        }
    }
    Ok(pid.trim().parse()?)
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // It has removed everything when it exits.
        let _ = self.shell.wait();
    }
}
