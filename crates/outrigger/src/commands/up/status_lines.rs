//! Status lines on stderr: updated in place on a terminal, otherwise each change is a new line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::commands::live_area::LiveArea;

/// Lines on the terminal, so that it never scrolls. With more names, those that are not done come first.
const MAX_LINES: usize = 20;

/// Minimum time between two updates of the terminal.
const INTERVAL: Duration = Duration::from_millis(100);

/// The state of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Status {
    text: String,
    is_done: bool,
}

/// One line per name.
#[derive(Debug)]
pub(super) struct StatusLines {
    area: LiveArea,
    statuses: BTreeMap<String, Status>,
    drawn_at: Option<Instant>,
    is_outdated: bool,
}

impl StatusLines {
    pub(super) fn new() -> Self {
        Self {
            area: LiveArea::new(),
            statuses: BTreeMap::new(),
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
        if self.area.is_terminal() {
            self.statuses.insert(name.to_owned(), status);
            self.is_outdated = true;
            if self.drawn_at.is_none_or(|at| at.elapsed() >= INTERVAL) {
                self.flush();
            }
        } else if !is_transient {
            self.area.draw(std::slice::from_ref(&status.text), &[]);
            self.statuses.insert(name.to_owned(), status);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.is_outdated |= self.statuses.remove(name).is_some();
    }

    /// When the terminal is updated next, if there is something to update.
    pub(super) fn next_flush(&self) -> Option<Instant> {
        let is_due = self.area.is_terminal() && self.is_outdated;
        self.drawn_at.filter(|_| is_due).map(|at| at + INTERVAL)
    }

    /// Updates the terminal.
    pub(super) fn flush(&mut self) {
        if self.area.is_terminal() && self.is_outdated {
            let lines = self.lines();
            self.area.draw(&[], &lines);
            self.drawn_at = Some(Instant::now());
            self.is_outdated = false;
        }
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
            area: LiveArea::new(),
            statuses: statuses.collect(),
            drawn_at: Some(Instant::now()),
            is_outdated: false,
        }
    }

    #[test]
    fn many_plugins_keep_to_the_screen_and_those_in_progress_come_first() {
        let lines = lines(300);
        let shown = lines.lines();
        assert_eq!(shown.len(), MAX_LINES);
        assert_eq!(shown[0], "text 1");
        assert_eq!(shown[MAX_LINES - 1], "150 of 300 plugins are done");
    }
}
