//! Prints errors to stderr: the message, its causes and hints. Nothing else writes errors.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use crate::logging::LogFormat;
use crate::printable;

/// Prints a usage error, or the help text if it was requested.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    };
    let text = error.render();
    // A failed write cannot be reported anywhere.
    let _ = if error.use_stderr() {
        // Spelled as in the errors of commands.
        let text = text.ansi().to_string().replacen("error:", "Error:", 1);
        anstream::stderr().lock().write_all(text.as_bytes())
    } else {
        let text = text.ansi().to_string();
        anstream::stdout().lock().write_all(text.as_bytes())
    };
    code
}

/// Prints the error of a command: the message, its causes, then the hints of the whole chain. If log lines are JSON, it is
/// one of them.
pub(crate) fn failure(error: &anyhow::Error, format: LogFormat) -> ExitCode {
    if format == LogFormat::Json {
        tracing::error!("{}", text(error).trim_end());
    } else {
        // A failed write to stderr cannot be reported anywhere.
        let _ = anstream::stderr()
            .lock()
            .write_all(printable::lines(&text(error)).as_bytes());
    }
    if is_usage_error(error) {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

/// A command line that the parser accepts, but the command does not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

fn is_usage_error(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let hinted = cause.downcast_ref::<Hinted>();
        cause.is::<UsageError>() || hinted.is_some_and(|hinted| is_usage_error(&hinted.error))
    })
}

/// Prints the error of one of several things, with its causes and hints, as lines of information.
pub(crate) fn note_failure(what: &str, error: &anyhow::Error) {
    note(&format!("{what}: {}", messages(error).join(": ")));
    for hint in hints(error) {
        note(&format!("  hint: {hint}"));
    }
}

/// Prints one line of information for the user that is not part of the result.
pub(crate) fn note(text: &str) {
    // Notes are optional: a failed write to stderr is ignored.
    let _ = writeln!(anstream::stderr().lock(), "{}", printable::line(text));
}

/// Prints what a program on a machine wrote to its stderr.
pub(crate) fn lines(text: &str) {
    // As above.
    let _ = writeln!(anstream::stderr().lock(), "{}", printable::lines(text));
}

/// The message of an error, its causes and its hints.
pub(crate) fn text(error: &anyhow::Error) -> String {
    let messages = messages(error);
    let mut text = String::new();
    for (index, message) in messages.iter().enumerate() {
        let prefix = if index == 0 { "Error" } else { "  caused by" };
        text.push_str(&format!("{prefix}: {message}\n"));
    }
    for hint in hints(error) {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

/// The messages of an error and its causes. The errors of a client repeat what the server responded, also as debug output.
fn messages(error: &anyhow::Error) -> Vec<String> {
    let mut messages = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        let message = match text.split_once("ApiError: ") {
            Some((before, rest)) => {
                let end = rest.find(" (Status {").unwrap_or(rest.len());
                format!("{before}{}", &rest[..end])
            }
            None => text,
        };
        let is_repeated = |last: &String| last.contains(&message);
        if !messages.last().is_some_and(is_repeated) {
            messages.push(message);
        }
    }
    messages
}

fn hints(error: &anyhow::Error) -> impl Iterator<Item = &str> {
    let hinted = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<Hinted>());
    hinted.map(|hinted| hinted.hint.as_str())
}

/// An error with a hint. `Display` and `source` are those of the wrapped error.
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

/// Adds a hint to an error.
pub(crate) trait HintExt<T> {
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> HintExt<T> for Result<T, E> {
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| hinted(error, Some(hint.into())))
    }
}

/// An error with its hint, if it has one.
pub(crate) fn hinted(error: impl Into<anyhow::Error>, hint: Option<String>) -> anyhow::Error {
    let error = error.into();
    match hint {
        Some(hint) => Hinted { error, hint }.into(),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn usage_errors_are_found_below_hints_and_contexts() {
        let usage = || Err::<(), _>(UsageError("unsupported flag".to_owned()));
        let error = usage().hint("use another one").unwrap_err();
        assert!(is_usage_error(&error));
        assert!(is_usage_error(&error.context("failed to start")));
        let other: anyhow::Result<()> = Err(anyhow::anyhow!("no such file"));
        assert!(!is_usage_error(&other.hint("create it").unwrap_err()));
    }

    #[test]
    fn prints_message_causes_and_hints_once_each() {
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

    #[test]
    fn a_response_of_a_server_is_printed_once_and_without_debug_output() {
        let status = kube::core::Status::failure("spec.version: Required value", "Invalid");
        let error = anyhow::Error::new(kube::Error::Api(Box::new(status)));
        assert_eq!(
            text(&error.context("failed to apply the cluster")),
            "Error: failed to apply the cluster\n  caused by: spec.version: Required value: Invalid\n"
        );
    }
}
