//! Execution errors, with the messages of Go, Helm 3 and Helm 4.

use std::fmt;

/// `template.ExecError`.
///
/// Its `Display` is Go's message: `template: FILE:LINE:COLUMN: executing "NAME" at <NODE>: MESSAGE`, nested if a template
/// is included by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecError(Box<Chain>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Chain {
    /// The prefixes of the message, the outermost last. Each is a Go error that wraps the next one.
    wraps: Vec<String>,
    message: String,
    /// Whether the message is a Go error of its own, or part of the innermost prefix.
    message_is_error: bool,
    is_panic: bool,
}

/// The maximum length of all prefixes.
const MAX_LENGTH: usize = 16 << 20;

/// Helm's markers around the messages of `required` and `fail`.
const WARN_START: &str = "HELM_ERR_START";
const WARN_END: &str = "HELM_ERR_END";

impl ExecError {
    /// An error without a location.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self(Box::new(Chain {
            wraps: Vec::new(),
            message: message.into(),
            message_is_error: true,
            is_panic: false,
        }))
    }

    /// Helm's error for a Go panic, which is never wrapped.
    pub(crate) fn panicked(message: &str) -> Self {
        let mut error = Self::plain(format!("rendering template failed: {message}"));
        error.0.is_panic = true;
        error
    }

    /// The message of `required` or `fail`.
    pub(crate) fn warning(message: &str) -> Self {
        Self::plain(format!("{WARN_START}{message}{WARN_END}"))
    }

    /// An error at a node; `prefix` contains its location.
    pub(crate) fn at(prefix: String, message: impl Into<String>) -> Self {
        Self(Box::new(Chain {
            wraps: vec![prefix],
            message: message.into(),
            message_is_error: false,
            is_panic: false,
        }))
    }

    /// Wraps the error, as Go's `%w` does. A prefix may contain a whole template, so that their length is limited.
    pub(crate) fn wrap(mut self, prefix: String) -> Self {
        let length: usize = self.0.wraps.iter().map(String::len).sum();
        if !self.0.is_panic && length + prefix.len() <= MAX_LENGTH {
            self.0.wraps.push(prefix);
        }
        self
    }

    /// The message that Helm 3 prints after `Error: `.
    pub fn helm3_text(&self) -> String {
        let text = self.to_string();
        warning_text(&text).unwrap_or(text)
    }

    /// The message that Helm 4 prints after `Error: `: a trace with one paragraph for each template.
    pub fn helm4_text(&self) -> String {
        let text = self.to_string();
        if let Some(warning) = warning_text(&text) {
            return warning;
        }
        if self.0.wraps.is_empty() {
            return text;
        }
        let mut trace = Vec::new();
        for start in self.starts() {
            let Some(step) = text.get(start..).and_then(Step::parse) else {
                return text;
            };
            if trace.last() != Some(&step) {
                trace.push(step);
            }
        }
        let trace: String = trace.iter().map(Step::to_string).collect();
        trace.trim().to_owned()
    }

    /// The offset of each wrapped error in the message, outermost first.
    fn starts(&self) -> Vec<usize> {
        let mut start = 0;
        let mut starts = Vec::with_capacity(self.0.wraps.len() + 1);
        for wrap in self.0.wraps.iter().rev() {
            starts.push(start);
            start += wrap.len();
        }
        if self.0.message_is_error {
            starts.push(start);
        }
        starts
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wrap in self.0.wraps.iter().rev() {
            f.write_str(wrap)?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ExecError {}

/// `execution error at (FILE:LINE:COLUMN): MESSAGE`, if `required` or `fail` caused the error.
fn warning_text(text: &str) -> Option<String> {
    let mut parts = text.splitn(3, ": ");
    let (location, rest) = (parts.nth(1)?, parts.next()?);
    let start = rest.find(WARN_START)? + WARN_START.len();
    let end = rest.rfind(WARN_END)?;
    let message = rest.get(start..end)?;
    Some(format!("execution error at ({location}): {message}"))
}

/// One entry of Helm 4's trace.
#[derive(Debug, PartialEq, Eq)]
struct Step<'t> {
    location: &'t str,
    /// The name of the executed template, and the node.
    executing: Option<(&'t str, &'t str)>,
    message: &'t str,
}

impl<'t> Step<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let rest = text.strip_prefix("template: ")?;
        if rest.starts_with("no template ") {
            return Some(Self {
                location: "",
                executing: None,
                message: text,
            });
        }
        Self::parse_executing(rest).or_else(|| {
            let (location, message) = rest.rsplit_once(": ")?;
            Some(Self {
                location,
                executing: None,
                message: before_next(message),
            })
        })
    }

    /// `LOCATION: executing "NAME" at <NODE>: MESSAGE`
    fn parse_executing(rest: &'t str) -> Option<Self> {
        let (location, rest) = rest.split_once(": executing ")?;
        let (name, rest) = rest.strip_prefix('"')?.split_once('"')?;
        let (node, message) = rest.strip_prefix(" at <")?.split_once(">: ")?;
        Some(Self {
            location,
            executing: Some((name, node)),
            message: before_next(message),
        })
    }
}

fn before_next(message: &str) -> &str {
    message
        .split_once(" template:")
        .map_or(message, |(own, _)| own)
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.location.is_empty() {
            write!(f, "{}\n  ", self.location)?;
        }
        if let Some((name, node)) = self.executing {
            write!(f, "executing \"{name}\" at <{node}>:\n    ")?;
        }
        if !self.message.is_empty() {
            writeln!(f, "{}", self.message)?;
        }
        Ok(())
    }
}
