//! What to run on a machine.

use std::time::Duration;

use crate::shell::{quote, quote_all};

/// How long a command may take unless it says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);
/// No clock or program of a machine has to count further.
const MAX_TIMEOUT: Duration = Duration::from_hours(100 * 365 * 24);
/// How much of the beginning and of the end of each output is kept.
const DEFAULT_CAPTURE: usize = 64 * 1024;

/// What is run.
#[derive(Debug, Clone)]
enum Work {
    /// The words of a command.
    Program(String),
    /// POSIX shell text.
    Shell(String),
}

/// A program with arguments, or shell text, and its limits.
#[derive(Debug, Clone)]
pub struct Command {
    work: Work,
    environment: Vec<(&'static str, String)>,
    directory: Option<String>,
    pub(crate) input: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) capture: usize,
}

impl Command {
    /// Runs a program by its path or name. The arguments reach it as they are, whatever they contain.
    pub fn new<'a>(program: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let words = std::iter::once(program).chain(arguments);
        Self::of(Work::Program(quote_all(words)))
    }

    /// Runs POSIX shell text.
    pub fn shell(text: impl Into<String>) -> Self {
        Self::of(Work::Shell(text.into()))
    }

    fn of(work: Work) -> Self {
        Self {
            work,
            environment: Vec::new(),
            directory: None,
            input: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            capture: DEFAULT_CAPTURE,
        }
    }

    /// Sets an environment variable. The name is a constant of letters, digits and underscores.
    #[must_use]
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    #[must_use]
    pub fn directory(mut self, directory: impl Into<String>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// What the command reads from its input. Not for attempts.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// After this time its process group is killed. More than a hundred years are a hundred years.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(MAX_TIMEOUT);
        self
    }

    /// How many bytes of the beginning and of the end of each output are kept.
    #[must_use]
    pub fn capture(mut self, bytes: usize) -> Self {
        self.capture = bytes;
        self
    }

    /// The shell text that runs it.
    pub(crate) fn program(&self) -> String {
        // Not `exec`: a shell runs a script without a shebang only as a command of its own.
        let (Work::Program(text) | Work::Shell(text)) = &self.work;
        self.setup() + text
    }

    /// The words of a program without shell text.
    pub(crate) fn words(&self) -> Option<&str> {
        match &self.work {
            Work::Program(words) => Some(words),
            Work::Shell(_) => None,
        }
    }

    /// The shell text that sets its directory and environment.
    pub(crate) fn setup(&self) -> String {
        let mut setup = String::new();
        if let Some(directory) = &self.directory {
            setup.push_str(&format!("cd -- {} || exit 126\n", quote(directory)));
        }
        for (name, value) in &self.environment {
            setup.push_str(&format!("export {name}={}\n", quote(value)));
        }
        setup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hostile_arguments_and_values() {
        let command = Command::new("/tmp/hook", ["a=$(reboot)", "it's\n"])
            .env("KEY", "`x`")
            .directory("/tmp/x y");
        assert_eq!(
            command.program(),
            "cd -- '/tmp/x y' || exit 126\nexport KEY='`x`'\n/tmp/hook 'a=$(reboot)' 'it'\\''s\n'"
        );
    }
}
