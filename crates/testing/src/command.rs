//! Runs the `outrigger` binary in a clean place and writes down what a user would see.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A binary, an empty folder to run it in, and the words that must not reach a snapshot.
#[derive(Debug)]
pub struct TestContext {
    binary: PathBuf,
    folder: TempDir,
    redactions: Vec<(String, String)>,
}

impl TestContext {
    /// `binary` is `env!("CARGO_BIN_EXE_outrigger")` in the binary's own tests.
    pub fn new(binary: impl Into<PathBuf>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let redactions = vec![(folder.path().display().to_string(), "[FOLDER]".to_owned())];
        Ok(Self {
            binary: binary.into(),
            folder,
            redactions,
        })
    }

    /// The folder that the command runs in; it is its HOME as well.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Shows `placeholder` wherever `text` would appear.
    pub fn redact(&mut self, text: impl Into<String>, placeholder: impl Into<String>) {
        self.redactions.push((text.into(), placeholder.into()));
    }

    /// Writes a file below the folder, with the folders above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let path = self.folder().join(path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        Ok(fs_err::write(path, content)?)
    }

    /// The command with `args`, ready to run: nothing of the developer's environment is left in it.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port through which tests start the binary"
    )]
    pub fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .current_dir(self.folder())
            .env_clear()
            .env("HOME", self.folder());
        command
    }

    /// Runs the command and gives exit code, stdout and stderr as one text for a snapshot.
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
        for (secret, placeholder) in &self.redactions {
            text = text.replace(secret, placeholder);
        }
        text
    }
}
