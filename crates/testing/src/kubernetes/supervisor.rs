//! Starts programs that end with their owner: a small shell waits for the owner's end of a pipe to close.

use std::fmt::Display;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::peers::Peer;

/// A peer with its flags.
#[derive(Debug)]
pub(super) struct Program {
    name: &'static str,
    path: PathBuf,
    flags: Vec<String>,
}

impl Program {
    pub(super) fn new(peer: Peer) -> anyhow::Result<Self> {
        Ok(Self {
            name: peer.name,
            path: peer.installed()?,
            flags: Vec::new(),
        })
    }

    pub(super) fn flag(mut self, name: &str, value: impl Display) -> Self {
        self.flags.push(format!("--{name}={value}"));
        self
    }

    /// The line of shell that starts it in the background, its output in a log.
    fn line(&self) -> String {
        let words =
            std::iter::once(self.path.display().to_string()).chain(self.flags.iter().cloned());
        let words: Vec<_> = words
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        format!(
            "{} >{}.log 2>&1 </dev/null & pids=\"$pids $!\"\n",
            words.join(" "),
            self.name
        )
    }
}

/// Runs the lines that it gets, until there are no more. Then all that they started goes.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
pids=
while IFS= read -r line; do eval "$line"; done
kill -9 $pids 2>/dev/null
wait
folder=$PWD
cd /
rm -rf "$folder"
"#;

/// Running programs and the folder they work in. When this is dropped or its process ends, both go.
#[derive(Debug)]
pub(super) struct Supervisor {
    shell: Child,
    folder: PathBuf,
    names: Vec<&'static str>,
}

impl Supervisor {
    /// Takes over the folder: from now on the shell removes it, also if this process is killed.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port through which tests start servers"
    )]
    pub(super) fn start(folder: TempDir) -> anyhow::Result<Self> {
        let folder = folder.keep();
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .context("failed to start a shell")?;
        Ok(Self {
            shell,
            folder,
            names: Vec::new(),
        })
    }

    /// Starts one more program.
    pub(super) fn run(&mut self, program: &Program) -> anyhow::Result<()> {
        let shell = self.shell.stdin.as_mut().context("the shell is there")?;
        shell.write_all(program.line().as_bytes())?;
        self.names.push(program.name);
        Ok(())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The ends of all logs.
    pub(super) fn logs(&self) -> String {
        let mut text = String::new();
        for name in &self.names {
            let log =
                fs_err::read_to_string(self.folder.join(format!("{name}.log"))).unwrap_or_default();
            text.push_str(&format!("{name}:\n{}", tail(&log, 8)));
        }
        text
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The shell ends by itself once its input is closed; if it is gone already, so are the servers.
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
    fn programs_and_folder_go_when_the_owner_does() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().to_owned();
        let sleeper = Program {
            name: "sleep",
            path: "sleep".into(),
            flags: vec!["1000".into()],
        };
        let mut supervisor = Supervisor::start(folder)?;
        supervisor.run(&sleeper)?;
        assert!(path.exists());
        drop(supervisor);
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn a_quote_in_a_flag_stays_inside_its_word() {
        let program = Program {
            name: "p",
            path: "p".into(),
            flags: vec!["it's".into()],
        };
        assert!(program.line().starts_with(r"'p' 'it'\''s' >p.log"));
    }
}
