//! Runs programs that stop with their parent: a shell waits until the parent's end of a pipe is closed.

use std::fmt::Display;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::peers::Peer;

/// The command line of a peer.
#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    path: PathBuf,
    flags: Vec<String>,
}

impl Program {
    pub(crate) fn new(peer: Peer) -> anyhow::Result<Self> {
        Ok(Self {
            name: peer.name,
            path: peer.installed()?,
            flags: Vec::new(),
        })
    }

    pub(crate) fn flag(mut self, name: &str, value: impl Display) -> Self {
        self.flags.push(format!("--{name}={value}"));
        self
    }

    /// The shell command that starts it in the background, with its output in a log file.
    fn shell_command(&self) -> String {
        let arguments =
            std::iter::once(self.path.display().to_string()).chain(self.flags.iter().cloned());
        let arguments: Vec<_> = arguments
            .map(|argument| format!("'{}'", argument.replace('\'', r"'\''")))
            .collect();
        format!(
            "{} >{}.log 2>&1 </dev/null & pids=\"$pids $!\"\n",
            arguments.join(" "),
            self.name
        )
    }
}

/// Runs the commands from stdin. At the end of the input, kills their processes and removes the directory.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
pids=
while IFS= read -r line; do eval "$line"; done
kill -9 $pids 2>/dev/null
wait
directory=$PWD
cd /
rm -rf "$directory"
"#;

/// Running programs and their working directory. When this value is dropped or the process exits, the programs are
/// killed and the directory is removed.
#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    directory: PathBuf,
    names: Vec<String>,
}

impl Supervisor {
    /// Starts the shell, which from now on removes the directory, even if this process is killed.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port that starts servers in tests"
    )]
    pub(crate) fn start(directory: TempDir) -> anyhow::Result<Self> {
        let directory = directory.keep();
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .current_dir(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .context("failed to start a shell")?;
        Ok(Self {
            shell,
            directory,
            names: Vec::new(),
        })
    }

    /// Starts a program.
    pub(crate) fn run(&mut self, program: &Program) -> anyhow::Result<()> {
        let shell = self.shell.stdin.as_mut().context("stdin is piped")?;
        shell.write_all(program.shell_command().as_bytes())?;
        self.names.push(program.name.to_owned());
        Ok(())
    }

    /// Starts a shell command in the background, with its output in `<name>.log` and its process id in `<name>.pid`.
    pub(crate) fn start_command(&mut self, name: &str, command: &str) -> anyhow::Result<()> {
        // The shell evaluates line by line.
        let script = self.directory.join(format!("{name}.sh"));
        fs_err::write(&script, format!("exec {command}\n"))?;
        let line = format!(
            "sh ./{name}.sh >>{name}.log 2>&1 </dev/null & echo $! >{name}.pid; pids=\"$pids $!\"\n"
        );
        let shell = self.shell.stdin.as_mut().context("stdin is piped")?;
        shell.write_all(line.as_bytes())?;
        self.names.push(name.to_owned());
        Ok(())
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The last lines of all logs.
    pub(crate) fn logs(&self) -> String {
        let mut text = String::new();
        for name in &self.names {
            let log = fs_err::read_to_string(self.directory.join(format!("{name}.log")))
                .unwrap_or_default();
            text.push_str(&format!("{name}:\n{}", tail(&log, 8)));
        }
        text
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The shell exits at the end of its input. If it has exited already, the servers are stopped.
        let _ = self.shell.wait();
    }
}

/// The last lines of a log, for an error message.
fn tail(text: &str, lines: usize) -> String {
    let skip = text.lines().count().saturating_sub(lines);
    text.lines()
        .skip(skip)
        .map(|line| format!("  {line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_stops_programs_and_removes_the_directory() -> anyhow::Result<()> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().to_owned();
        let sleeper = Program {
            name: "sleep",
            path: "sleep".into(),
            flags: vec!["1000".into()],
        };
        let mut supervisor = Supervisor::start(directory)?;
        supervisor.run(&sleeper)?;
        assert!(path.exists());
        drop(supervisor);
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn quotes_flags_for_the_shell() {
        let program = Program {
            name: "p",
            path: "p".into(),
            flags: vec!["it's".into()],
        };
        assert!(program.shell_command().starts_with(r"'p' 'it'\''s' >p.log"));
    }
}
