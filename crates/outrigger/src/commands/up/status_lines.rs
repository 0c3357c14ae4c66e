//! Status lines on stderr: updated in place on a terminal, otherwise each change is a new line.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};

/// One line per name.
#[derive(Debug)]
pub(super) struct StatusLines {
    is_terminal: bool,
    texts: BTreeMap<String, String>,
    /// The number of lines on the terminal.
    drawn: usize,
}

impl StatusLines {
    pub(super) fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            texts: BTreeMap::new(),
            drawn: 0,
        }
    }

    /// Sets a line. Transient ones are only shown on a terminal.
    pub(super) fn set(&mut self, name: &str, text: String, is_transient: bool) {
        if self.texts.get(name) == Some(&text) {
            return;
        }
        let mut stderr = anstream::stderr().lock();
        if self.is_terminal {
            self.texts.insert(name.to_owned(), text);
            // Progress is optional: a failed write to stderr is ignored.
            let _ = stderr.write_all(self.redraw().as_bytes());
        } else if !is_transient {
            let _ = writeln!(stderr, "{text}");
            self.texts.insert(name.to_owned(), text);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.texts.remove(name);
    }

    /// Moves the cursor to the first line and rewrites all lines.
    fn redraw(&mut self) -> String {
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in self.texts.values() {
            text.push_str("\r\x1b[2K");
            text.push_str(line);
            text.push('\n');
        }
        for _ in self.texts.len()..self.drawn {
            text.push_str("\r\x1b[2K\n");
        }
        self.drawn = self.drawn.max(self.texts.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redraws_lines_in_place() {
        let mut lines = StatusLines {
            is_terminal: true,
            texts: BTreeMap::from([("a".to_owned(), "one".to_owned())]),
            drawn: 0,
        };
        assert_eq!(lines.redraw(), "\r\x1b[2Kone\n");
        lines.texts.insert("b".to_owned(), "two".to_owned());
        assert_eq!(lines.redraw(), "\x1b[1A\r\x1b[2Kone\n\r\x1b[2Ktwo\n");
    }
}
