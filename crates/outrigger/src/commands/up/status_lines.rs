//! Status lines on stderr: updated in place on a terminal, otherwise each change is a new line.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Lines on the terminal, so that it never scrolls. With more names, those that are not done come first.
const MAX_LINES: usize = 20;

/// Minimum time between two updates of the terminal.
const INTERVAL: Duration = Duration::from_millis(100);

/// Turns line wrapping off and on: a long line is cut at the edge of the terminal.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";

/// The state of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Status {
    text: String,
    is_done: bool,
}

/// One line per name.
#[derive(Debug)]
pub(super) struct StatusLines {
    is_terminal: bool,
    statuses: BTreeMap<String, Status>,
    /// The number of lines on the terminal.
    drawn: usize,
    drawn_at: Option<Instant>,
    is_outdated: bool,
}

impl StatusLines {
    pub(super) fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            statuses: BTreeMap::new(),
            drawn: 0,
            drawn_at: None,
            is_outdated: false,
        }
    }

    /// Sets a line. Transient ones are only shown on a terminal.
    pub(super) fn set(&mut self, name: &str, text: String, is_transient: bool, is_done: bool) {
        let status = Status { text, is_done };
        if self.statuses.get(name) == Some(&status) {
            return;
        }
        if self.is_terminal {
            self.statuses.insert(name.to_owned(), status);
            self.is_outdated = true;
            if self.drawn_at.is_none_or(|at| at.elapsed() >= INTERVAL) {
                self.flush();
            }
        } else if !is_transient {
            // Progress is optional: a failed write to stderr is ignored.
            let _ = writeln!(anstream::stderr().lock(), "{}", status.text);
            self.statuses.insert(name.to_owned(), status);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.is_outdated |= self.statuses.remove(name).is_some();
    }

    /// When the terminal is updated next, if there is something to update.
    pub(super) fn next_flush(&self) -> Option<Instant> {
        let is_due = self.is_terminal && self.is_outdated;
        self.drawn_at.filter(|_| is_due).map(|at| at + INTERVAL)
    }

    /// Updates the terminal.
    pub(super) fn flush(&mut self) {
        if self.is_terminal && self.is_outdated {
            let text = self.redraw();
            let _ = anstream::stderr().lock().write_all(text.as_bytes());
            self.drawn_at = Some(Instant::now());
            self.is_outdated = false;
        }
    }

    /// Moves the cursor to the first line and rewrites all lines.
    fn redraw(&mut self) -> String {
        let lines = self.lines();
        let mut text = WRAP_OFF.to_owned();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in &lines {
            text.push_str(&format!("\r\x1b[2K{line}\n"));
        }
        for _ in lines.len()..self.drawn {
            text.push_str("\r\x1b[2K\n");
        }
        text.push_str(WRAP_ON);
        self.drawn = self.drawn.max(lines.len());
        text
    }

    /// All lines, or as many as fit and a summary.
    fn lines(&self) -> Vec<String> {
        let total = self.statuses.len();
        if total <= MAX_LINES {
            let statuses = self.statuses.values();
            return statuses.map(|status| status.text.clone()).collect();
        }
        let done = self.statuses.values().filter(|status| status.is_done);
        let done = done.count();
        let mut statuses: Vec<&Status> = self.statuses.values().collect();
        statuses.sort_by_key(|status| status.is_done);
        statuses.truncate(MAX_LINES - 1);
        let mut lines: Vec<String> = statuses
            .into_iter()
            .map(|status| status.text.clone())
            .collect();
        lines.push(format!("{done} of {total} plugins are done"));
        lines
    }
}

impl Drop for StatusLines {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> StatusLines {
        let statuses = (0..count).map(|number| {
            let status = Status {
                text: format!("text {number}"),
                is_done: number % 2 == 0,
            };
            (format!("{number:03}"), status)
        });
        StatusLines {
            is_terminal: true,
            statuses: statuses.collect(),
            drawn: 0,
            drawn_at: Some(Instant::now()),
            is_outdated: false,
        }
    }

    #[test]
    fn redraws_lines_in_place() {
        let mut lines = lines(1);
        let off = WRAP_OFF;
        let on = WRAP_ON;
        assert_eq!(lines.redraw(), format!("{off}\r\x1b[2Ktext 0\n{on}"));
        let status = Status {
            text: "two".to_owned(),
            is_done: false,
        };
        lines.statuses.insert("b".to_owned(), status);
        let expected = format!("{off}\x1b[1A\r\x1b[2Ktext 0\n\r\x1b[2Ktwo\n{on}");
        assert_eq!(lines.redraw(), expected);
    }

    #[test]
    fn many_plugins_keep_to_the_screen_and_those_in_progress_come_first() {
        let mut lines = lines(300);
        let shown = lines.lines();
        assert_eq!(shown.len(), MAX_LINES);
        assert_eq!(shown[0], "text 1");
        assert_eq!(shown[MAX_LINES - 1], "150 of 300 plugins are done");
        let newlines = |text: &str| text.matches('\n').count();
        for _ in 0..3 {
            assert_eq!(newlines(&lines.redraw()), MAX_LINES);
        }
    }
}
