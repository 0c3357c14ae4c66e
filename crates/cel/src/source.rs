//! The text of an expression, and compile errors that point into it.

use std::fmt;

/// The maximum number of issues that are reported for an expression.
const MAX_ISSUES: usize = 100;
/// Longer lines are not shown.
const MAX_SNIPPET: usize = 16_384;

/// The text of an expression as code points.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: Vec<char>,
    /// The offset of each line.
    lines: Vec<usize>,
}

/// A line, counted from 1, and a column, counted from 0. The default is no location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    line: i64,
    column: i64,
}

impl Location {
    pub(crate) const NONE: Self = Self {
        line: -1,
        column: -1,
    };
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let breaks = text.iter().enumerate().filter(|(_, c)| **c == '\n');
        let starts = breaks.map(|(offset, _)| offset.saturating_add(1));
        let lines = std::iter::once(0).chain(starts).collect();
        Self { text, lines }
    }

    pub(crate) fn location(&self, offset: usize) -> Location {
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.lines.get(line));
        let column = offset.saturating_sub(start.copied().unwrap_or(0));
        Location {
            line: i64::try_from(line).unwrap_or(i64::MAX),
            column: i64::try_from(column).unwrap_or(i64::MAX),
        }
    }

    fn snippet(&self, location: Location) -> Option<String> {
        let line = usize::try_from(location.line).ok()?;
        let start = *self.lines.get(line.checked_sub(1)?)?;
        let end = self.lines.get(line).map(|next| next.saturating_sub(1));
        let line = self.text.get(start..end.unwrap_or(self.text.len()))?;
        Some(line.iter().collect())
    }
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Issue {
    location: Location,
    message: String,
    /// The issue as it is displayed, with the line of the source.
    text: String,
}

/// Everything that is wrong with an expression. The text is that of cel-go.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
pub struct Issues {
    issues: Vec<Issue>,
    count: usize,
}

impl Issues {
    pub(crate) fn report(&mut self, source: &Source, location: Location, message: String) {
        self.count = self.count.saturating_add(1);
        if self.count > MAX_ISSUES {
            return;
        }
        let text = display(source, location, &message);
        self.issues.push(Issue {
            location,
            message,
            text,
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// The messages without their locations.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.issues.iter().map(|issue| issue.message.as_str())
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut issues: Vec<_> = self.issues.iter().collect();
        issues.sort_by_key(|issue| issue.location);
        for (i, issue) in issues.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", issue.text)?;
        }
        match self.count.saturating_sub(MAX_ISSUES) {
            0 => Ok(()),
            more => write!(f, "\n{more} more errors were truncated"),
        }
    }
}

fn display(source: &Source, location: Location, message: &str) -> String {
    let column = location.column.saturating_add(1);
    let mut text = format!("ERROR: <input>:{}:{column}: {message}", location.line);
    let snippet = source.snippet(location);
    if let Some(line) = snippet.filter(|line| line.len() <= MAX_SNIPPET) {
        let line = line.replace('\t', " ");
        text.push_str(&format!("\n | {line}\n | "));
        let mut characters = line.chars();
        let before = usize::try_from(location.column).unwrap_or(0);
        for character in characters.by_ref().take(before) {
            text.push(if character.is_ascii() { '.' } else { '．' });
        }
        let is_wide = characters.next().is_some_and(|c| !c.is_ascii());
        text.push(if is_wide { '＾' } else { '^' });
    }
    text
}
