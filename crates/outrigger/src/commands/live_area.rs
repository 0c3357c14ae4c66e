//! The last lines of the terminal, which are rewritten in place.

use std::io::{IsTerminal as _, Write as _};

/// Turns line wrapping off and on: a long line is cut at the edge of the terminal.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";

/// Lines on stderr. Without a terminal, only lines that stay are written.
#[derive(Debug)]
pub(crate) struct LiveArea {
    is_terminal: bool,
    /// The number of lines on the terminal.
    drawn: usize,
}

impl LiveArea {
    pub(crate) fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            drawn: 0,
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes lines that stay, and rewrites the area below them.
    pub(crate) fn draw(&mut self, staying: &[String], lines: &[String]) {
        let text = if self.is_terminal {
            self.redraw(staying, lines)
        } else {
            staying.iter().map(|line| format!("{line}\n")).collect()
        };
        // Progress is optional: a failed write to stderr is ignored.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    }

    /// Moves the cursor to the first line and rewrites all lines.
    fn redraw(&mut self, staying: &[String], lines: &[String]) -> String {
        let mut text = WRAP_OFF.to_owned();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in staying.iter().chain(lines) {
            text.push_str(&format!("\r\x1b[2K{line}\n"));
        }
        let left = self.drawn.saturating_sub(staying.len());
        for _ in lines.len()..left {
            text.push_str("\r\x1b[2K\n");
        }
        text.push_str(WRAP_ON);
        self.drawn = left.max(lines.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn lines_are_rewritten_in_place_below_those_that_stay() {
        let mut area = LiveArea {
            is_terminal: true,
            drawn: 0,
        };
        let (off, on) = (WRAP_OFF, WRAP_ON);
        let clear = "\r\x1b[2K";
        let first = area.redraw(&[], &lines(&["one"]));
        assert_eq!(first, format!("{off}{clear}one\n{on}"));
        let second = area.redraw(&[], &lines(&["one", "two"]));
        assert_eq!(second, format!("{off}\x1b[1A{clear}one\n{clear}two\n{on}"));
        let third = area.redraw(&lines(&["stays"]), &lines(&["three"]));
        assert_eq!(
            third,
            format!("{off}\x1b[2A{clear}stays\n{clear}three\n{on}")
        );
        let fourth = area.redraw(&[], &[]);
        assert_eq!(fourth, format!("{off}\x1b[1A{clear}\n{on}"));
    }
}
