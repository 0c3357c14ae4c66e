//! The last lines of the terminal, which are rewritten in place.

use std::io::{IsTerminal as _, Write as _};

use crate::printable;

/// Lines on stderr. Without a terminal, only lines that stay are written.
#[derive(Debug)]
pub(crate) struct LiveArea {
    is_terminal: bool,
    /// The number of lines on the terminal.
    drawn: usize,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy)]
struct Size {
    columns: usize,
    rows: usize,
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
            self.redraw(staying, lines, terminal_size())
        } else {
            let staying = staying.iter().map(|line| printable::line(line));
            staying.map(|line| format!("{line}\n")).collect()
        };
        // Progress is optional: a failed write to stderr is ignored.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    }

    /// Moves the cursor to the first line, clears the area and writes all lines. Those that stay are wrapped by the
    /// terminal; those of the area are cut, so that each has one row.
    fn redraw(&mut self, staying: &[String], lines: &[String], size: Size) -> String {
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        text.push_str("\r\x1b[J");
        for line in staying {
            text.push_str(&printable::line(line));
            text.push('\n');
        }
        // The cursor is below the last line, and cannot move above the first row.
        let shown = lines.len().min(size.rows.saturating_sub(1));
        for line in &lines[..shown] {
            text.push_str(&printable::cut(&printable::line(line), size.columns));
            text.push('\n');
        }
        self.drawn = shown;
        text
    }
}

/// The size of the terminal of stderr. One that does not know its size is taken for a small one.
fn terminal_size() -> Size {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(
        Size {
            columns: 80,
            rows: 24,
        },
        |size| Size {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Size = Size {
        columns: 20,
        rows: 24,
    };

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn area() -> LiveArea {
        LiveArea {
            is_terminal: true,
            drawn: 0,
        }
    }

    #[test]
    fn lines_are_rewritten_in_place_below_those_that_stay() {
        let mut area = area();
        let clear = "\r\x1b[J";
        let first = area.redraw(&[], &lines(&["one"]), SMALL);
        assert_eq!(first, format!("{clear}one\n"));
        let second = area.redraw(&[], &lines(&["one", "two"]), SMALL);
        assert_eq!(second, format!("\x1b[1A{clear}one\ntwo\n"));
        let third = area.redraw(&lines(&["stays"]), &lines(&["three"]), SMALL);
        assert_eq!(third, format!("\x1b[2A{clear}stays\nthree\n"));
        let fourth = area.redraw(&[], &[], SMALL);
        assert_eq!(fourth, format!("\x1b[1A{clear}"));
    }

    #[test]
    fn a_line_of_the_area_has_one_row_whatever_it_contains() {
        let mut area = area();
        let long = lines(&[
            "exit code 1\nsecond line\x1b[2J",
            "日本語日本語日本語日本語",
        ]);
        let text = area.redraw(&[], &long, SMALL);
        assert_eq!(text, "\r\x1b[Jexit code 1 second…\n日本語日本語日本語…\n");
        assert_eq!(area.drawn, 2);
    }

    #[test]
    fn a_line_that_stays_is_not_cut() {
        let long = "PreUpgrade attempt=10 with a message that is longer than the terminal";
        let text = area().redraw(&lines(&[long]), &[], SMALL);
        assert_eq!(text, format!("\r\x1b[J{long}\n"));
    }

    #[test]
    fn the_area_keeps_to_the_rows_of_the_terminal() {
        let mut area = area();
        let size = Size {
            columns: 20,
            rows: 3,
        };
        let text = area.redraw(&[], &lines(&["one", "two", "three"]), size);
        assert_eq!(text, "\r\x1b[Jone\ntwo\n");
        assert_eq!(area.drawn, 2);
    }
}
