//! Lines that change in place on a terminal; elsewhere each change is a line of its own.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};

/// One line for each name.
#[derive(Debug)]
pub(super) struct Lines {
    is_live: bool,
    texts: BTreeMap<String, String>,
    /// How many lines are on the terminal now.
    shown: usize,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            is_live: std::io::stderr().is_terminal(),
            texts: BTreeMap::new(),
            shown: 0,
        }
    }

    /// Sets a line. In passing ones only a terminal is interested.
    pub(super) fn set(&mut self, name: &str, text: String, is_passing: bool) {
        if self.texts.get(name) == Some(&text) {
            return;
        }
        let mut stderr = anstream::stderr().lock();
        if self.is_live {
            self.texts.insert(name.to_owned(), text);
            // Who cannot see it misses nothing that counts.
            let _ = stderr.write_all(self.redraw().as_bytes());
        } else if !is_passing {
            let _ = writeln!(stderr, "{text}");
            self.texts.insert(name.to_owned(), text);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.texts.remove(name);
    }

    /// Goes up to the first line and writes all anew, each over an empty line.
    fn redraw(&mut self) -> String {
        let mut text = String::new();
        if self.shown > 0 {
            text.push_str(&format!("\x1b[{}A", self.shown));
        }
        for line in self.texts.values() {
            text.push_str("\r\x1b[2K");
            text.push_str(line);
            text.push('\n');
        }
        for _ in self.texts.len()..self.shown {
            text.push_str("\r\x1b[2K\n");
        }
        self.shown = self.shown.max(self.texts.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_over_those_before() {
        let mut lines = Lines {
            is_live: true,
            texts: BTreeMap::from([("a".to_owned(), "one".to_owned())]),
            shown: 0,
        };
        assert_eq!(lines.redraw(), "\r\x1b[2Kone\n");
        lines.texts.insert("b".to_owned(), "two".to_owned());
        assert_eq!(lines.redraw(), "\x1b[1A\r\x1b[2Kone\n\r\x1b[2Ktwo\n");
    }
}
