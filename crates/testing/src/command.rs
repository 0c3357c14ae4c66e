//! Runs a binary in an empty directory and environment, and captures its output for snapshots.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A binary, a directory to run it in, and the redactions of its output.
#[derive(Debug)]
pub struct TestContext {
    binary: PathBuf,
    directory: TempDir,
    redactions: Vec<(String, String)>,
}

impl TestContext {
    /// `binary` is `env!("CARGO_BIN_EXE_outrigger")` in the tests of `outrigger`.
    pub fn new(binary: impl Into<PathBuf>) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let redactions = vec![(
            directory.path().display().to_string(),
            "[FOLDER]".to_owned(),
        )];
        Ok(Self {
            binary: binary.into(),
            directory,
            redactions,
        })
    }

    /// The working directory of the command, which is also its HOME.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Replaces `text` in the output by `placeholder`.
    pub fn redact(&mut self, text: impl Into<String>, placeholder: impl Into<String>) {
        self.redactions.push((text.into(), placeholder.into()));
    }

    /// Writes a file below the directory, and creates its parents.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let path = self.directory().join(path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        Ok(fs_err::write(path, content)?)
    }

    /// The command with `args`, without the environment of the caller.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port that runs binaries in tests"
    )]
    pub fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .current_dir(self.directory())
            .env_clear()
            .env("HOME", self.directory());
        command
    }

    /// Runs the command and returns exit code, stdout and stderr as one text for a snapshot.
    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> anyhow::Result<String> {
        let output = self.command(args).output()?;
        let code = output
            .status
            .code()
            .map_or_else(|| "killed".to_owned(), |code| code.to_string());
        let stdout = self.redacted(&output.stdout);
        let stderr = self.redacted(&output.stderr);
        Ok(format!(
            "exit code: {code}\n----- stdout -----\n{stdout}\n----- stderr -----\n{stderr}"
        ))
    }

    fn redacted(&self, bytes: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for (original, placeholder) in &self.redactions {
            text = text.replace(original, placeholder);
        }
        text
    }
}
