//! The only place that writes results to stdout. Whatever a text contains, the terminal shows it and obeys nothing in it.

use std::io::{IsTerminal as _, Write as _};

use anyhow::Context as _;
use serde::Serialize;

use crate::arguments::Output;
use crate::printable;

/// What separates the columns of a table.
const SEPARATOR: &str = "   ";

/// The width that is left of a column that is cut, however narrow the terminal is.
const MIN_CUT: usize = 16;

/// The columns of a table, and the cells of one row.
pub(crate) trait Row {
    const HEADERS: &'static [&'static str];
    /// Whether the last column is cut to the width of a terminal.
    const IS_CUT: bool = false;

    fn cells(&self) -> Vec<String>;

    /// The color of a cell on a terminal.
    fn color(&self, _column: usize) -> Option<Color> {
        None
    }
}

/// A named value of an object. Empty ones are not printed.
#[derive(Debug)]
pub(crate) struct Field {
    label: &'static str,
    value: String,
    color: Option<Color>,
}

impl Field {
    pub(crate) fn new(label: &'static str, value: impl Into<String>) -> Self {
        Self {
            label,
            value: value.into(),
            color: None,
        }
    }

    /// The field with a color on a terminal.
    pub(crate) fn color(mut self, color: Color) -> Self {
        self.color = Some(color);
        self
    }
}

/// A color of the terminal. The text says the same without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Green,
    Red,
    Yellow,
    Dim,
}

impl Color {
    /// The text in this color, if colors are enabled.
    pub(crate) fn paint(self, text: &str, is_colored: bool) -> String {
        let code = match self {
            Self::Green => 32,
            Self::Red => 31,
            Self::Yellow => 33,
            Self::Dim => 2,
        };
        if is_colored {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Whether stdout shows colors: it is a terminal, and neither `NO_COLOR` nor `TERM=dumb` is set.
pub(crate) fn is_colored() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Writes the result of a command. Only results are written to stdout, so that they can be piped.
#[derive(Debug)]
pub(crate) struct Printer {}

impl Printer {
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Prints text of one line.
    pub(crate) fn line(&self, text: &str) -> anyhow::Result<()> {
        self.raw(format!("{}\n", printable::line(text)).as_bytes())
    }

    /// Prints text of several lines.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        self.raw(printable::lines(text).as_bytes())
    }

    /// Prints fields, one per line.
    pub(crate) fn fields(&self, fields: &[Field]) -> anyhow::Result<()> {
        self.raw(details(fields, is_colored()).as_bytes())
    }

    /// Prints data unchanged. On a terminal, what it would obey is shown as escapes.
    pub(crate) fn data(&self, data: &[u8]) -> anyhow::Result<()> {
        if std::io::stdout().is_terminal() {
            let text = String::from_utf8_lossy(data);
            return self.raw(printable::escaped(&text).as_bytes());
        }
        self.raw(data)
    }

    /// Prints bytes unchanged: for the output of a program that the user runs on a machine, as SSH prints it. A closed pipe
    /// (`| head`) is not an error.
    #[expect(
        clippy::unused_self,
        reason = "commands print through the printer that is passed to them"
    )]
    pub(crate) fn raw(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.context("failed to write to stdout"),
        }
    }

    pub(crate) fn list<T: Row + Serialize>(
        &self,
        format: Output,
        list: &[T],
    ) -> anyhow::Result<()> {
        match format {
            Output::Table => self.raw(table(list, is_colored(), columns()).as_bytes()),
            Output::Json => self.json(&list),
            Output::Yaml => self.yaml(&list),
        }
    }

    /// Prints a row of a list that was printed before, below it. In JSON and YAML, rows are documents.
    pub(crate) fn next_row<T: Row + Serialize>(
        &self,
        format: Output,
        widths: &[usize],
        row: &T,
    ) -> anyhow::Result<()> {
        match format {
            Output::Table => {
                let line = line(&cells(row), widths, Some(row), is_colored());
                self.line(&line)
            }
            Output::Json => self.json(row),
            Output::Yaml => {
                self.line("---")?;
                self.yaml(row)
            }
        }
    }

    pub(crate) fn object<T: Row + Serialize>(
        &self,
        format: Output,
        object: &T,
    ) -> anyhow::Result<()> {
        match format {
            Output::Table => {
                self.raw(table(std::slice::from_ref(object), is_colored(), columns()).as_bytes())
            }
            Output::Json => self.json(object),
            Output::Yaml => self.yaml(object),
        }
    }

    /// Prints a value that has no table form: as JSON by default.
    pub(crate) fn value(&self, format: Output, value: &impl Serialize) -> anyhow::Result<()> {
        match format {
            Output::Yaml => self.yaml(value),
            Output::Table | Output::Json => self.json(value),
        }
    }

    fn json(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        self.data(&text)
    }

    fn yaml(&self, value: &impl Serialize) -> anyhow::Result<()> {
        self.data(&outrigger_goyaml::write_json(&serde_json::to_value(value)?))
    }
}

/// The width of the terminal of stdout, if it is one.
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Formats rows as aligned columns separated by three spaces. On a terminal of this many `columns`, the last cell of each
/// row is cut if the table says so.
fn table<T: Row>(rows: &[T], is_colored: bool, columns: Option<usize>) -> String {
    let widths = widths(rows);
    let header = line::<T>(&header::<T>(), &widths, None, is_colored);
    let room = columns.filter(|_| T::IS_CUT).map(|columns| {
        let others = widths
            .iter()
            .rev()
            .skip(1)
            .map(|width| width + SEPARATOR.len());
        columns.saturating_sub(others.sum()).max(MIN_CUT)
    });
    let lines = rows.iter().map(|row| {
        let mut cells = cells(row);
        if let (Some(room), Some(last)) = (room, cells.last_mut()) {
            *last = printable::cut(last, room);
        }
        line(&cells, &widths, Some(row), is_colored)
    });
    let lines = std::iter::once(header).chain(lines);
    lines.map(|line| line + "\n").collect()
}

/// The widths of the columns of a table.
pub(crate) fn widths<T: Row>(rows: &[T]) -> Vec<usize> {
    let mut widths = vec![0; T::HEADERS.len()];
    for cells in std::iter::once(header::<T>()).chain(rows.iter().map(cells)) {
        for (width, cell) in widths.iter_mut().zip(&cells) {
            *width = cell.chars().count().max(*width);
        }
    }
    widths
}

fn header<T: Row>() -> Vec<String> {
    let headers = T::HEADERS.iter();
    headers.map(|header| (*header).to_owned()).collect()
}

fn cells<T: Row>(row: &T) -> Vec<String> {
    row.cells()
        .iter()
        .map(|cell| printable::joined(cell))
        .collect()
}

/// One line of a table: the header, or a row.
fn line<T: Row>(cells: &[String], widths: &[usize], row: Option<&T>, is_colored: bool) -> String {
    let last = cells.iter().rposition(|cell| !cell.is_empty());
    let columns = cells.iter().zip(widths).enumerate();
    let padded = columns.map(|(column, (cell, width))| {
        // Nothing follows the last cell, so that lines have no trailing spaces.
        let width = if Some(column) == last { 0 } else { *width };
        let padded = format!("{cell:width$}");
        match row.and_then(|row| row.color(column)) {
            Some(color) => color.paint(&padded, is_colored),
            None => padded,
        }
    });
    let shown = last.map_or(0, |last| last + 1);
    padded.take(shown).collect::<Vec<_>>().join(SEPARATOR)
}

/// Formats fields as a column of labels and one of values, two spaces apart from the longest label.
pub(crate) fn details(fields: &[Field], is_colored: bool) -> String {
    let lengths = fields.iter().map(|field| field.label.len());
    let width = lengths.max().unwrap_or(0) + 2;
    let mut text = String::new();
    for field in fields.iter().filter(|field| !field.value.is_empty()) {
        let value = printable::line(&field.value);
        let value = match field.color {
            Some(color) => color.paint(&value, is_colored),
            None => value,
        };
        text.push_str(&format!("{:<width$}{value}\n", field.label));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Phases(&'static str, &'static str);

    impl Row for Phases {
        const HEADERS: &'static [&'static str] = &["PHASE", "MESSAGE"];
        const IS_CUT: bool = true;

        fn cells(&self) -> Vec<String> {
            vec![self.0.to_owned(), self.1.to_owned()]
        }

        fn color(&self, column: usize) -> Option<Color> {
            (column == 0).then_some(Color::Green)
        }
    }

    #[test]
    fn a_cell_with_several_lines_stays_in_its_row() {
        let rows = [Phases("Failed", "two errors:\n  - a\n  - b\n")];
        assert_eq!(
            table(&rows, false, None),
            "PHASE    MESSAGE\nFailed   two errors: - a - b\n"
        );
    }

    #[test]
    fn the_last_column_is_cut_to_the_width_of_the_terminal_only() {
        let rows = [Phases(
            "Failed",
            "the chart does not exist in the repository",
        )];
        assert_eq!(
            table(&rows, false, Some(30)),
            "PHASE    MESSAGE\nFailed   the chart does not e…\n"
        );
        for columns in [None, Some(80)] {
            let table = table(&rows, false, columns);
            assert!(table.ends_with("in the repository\n"), "{table}");
        }
        let narrow = table(&rows, false, Some(3));
        assert!(narrow.ends_with("Failed   the chart does…\n"), "{narrow}");
    }

    #[test]
    fn cells_and_fields_cannot_change_the_terminal() {
        let rows = [Phases("Failed", "a\x1b[2K\rReady\u{9b}1A\u{202e}")];
        assert_eq!(
            table(&rows, true, None),
            "PHASE    MESSAGE\n\x1b[32mFailed\x1b[0m   aReady\n"
        );
        let fields = [
            Field::new("Phase", "Rea\x1b[8mdy").color(Color::Green),
            Field::new("Origin", ""),
            Field::new("Chart", "web\nPhase  Ready\u{9b}1A"),
        ];
        assert_eq!(
            details(&fields, true),
            "Phase   \x1b[32mReady\x1b[0m\nChart   web Phase  Ready\n"
        );
    }

    #[test]
    fn rows_that_follow_a_table_are_aligned_with_it() {
        let widths = widths(&[Phases("Initializing", "ok")]);
        let row = Phases("Up", "later");
        let line = line(&cells(&row), &widths, Some(&row), false);
        assert_eq!(line, "Up             later");
    }

    #[test]
    fn columns_are_aligned_with_and_without_colors() {
        let rows = [Phases("Ready", "ok"), Phases("Up", "")];
        assert_eq!(
            table(&rows, false, None),
            "PHASE   MESSAGE\nReady   ok\nUp\n"
        );
        assert_eq!(
            table(&rows, true, None),
            "PHASE   MESSAGE\n\x1b[32mReady\x1b[0m   ok\n\x1b[32mUp\x1b[0m\n"
        );
    }
}
