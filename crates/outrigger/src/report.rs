//! How a failure reads: what failed, why, and what to do next. The only place that writes errors to stderr.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

/// Reports a command line that was not understood, or prints the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    };
    // Nothing is left to tell if even this cannot be written.
    let _ = error.print();
    code
}

/// Reports why a command failed: the message, its causes, then the hints of the whole chain.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    let mut stderr = anstream::stderr().lock();
    // Nothing is left to tell if even this cannot be written.
    let _ = stderr.write_all(text(error).as_bytes());
    ExitCode::FAILURE
}

/// Talk beside the results: what happens, what to do next.
pub(crate) fn note(text: &str) {
    // Who cannot hear it misses nothing that counts.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

fn text(error: &anyhow::Error) -> String {
    let mut text = format!("Error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  caused by: {cause}\n"));
    }
    for cause in error.chain() {
        if let Some(hinted) = cause.downcast_ref::<Hinted>() {
            text.push_str(&format!("hint: {}\n", hinted.hint));
        }
    }
    text
}

/// An error that comes with advice. It reads like the error it wraps.
#[derive(Debug)]
pub(crate) struct Hinted {
    error: anyhow::Error,
    hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Adds advice to an error.
pub(crate) trait HintExt<T> {
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> HintExt<T> for Result<T, E> {
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| {
            Hinted {
                error: error.into(),
                hint: hint.into(),
            }
            .into()
        })
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_failure_tells_message_causes_and_hints_once_each() {
        let cause: anyhow::Result<()> = Err(anyhow::anyhow!("connection refused"));
        let error = cause
            .hint("is the server up?")
            .context("failed to reach the cluster")
            .unwrap_err();
        assert_eq!(
            text(&error),
            "Error: failed to reach the cluster\n  caused by: connection refused\nhint: is the server up?\n"
        );
    }
}
