//! The only place that writes results to stdout.

use std::io::Write as _;

use anyhow::Context as _;
use serde::Serialize;

use crate::arguments::Output;

/// The columns of a table, and the cells of one row.
pub(crate) trait Row {
    const HEADERS: &'static [&'static str];

    fn cells(&self) -> Vec<String>;
}

/// Writes the result of a command. Only results are written to stdout, so that they can be piped.
#[derive(Debug)]
pub(crate) struct Printer {}

impl Printer {
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Prints bytes unchanged. A closed pipe (`| head`) is not an error.
    #[expect(
        clippy::unused_self,
        reason = "commands print through the printer that is passed to them"
    )]
    pub(crate) fn bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.context("failed to write to stdout"),
        }
    }

    pub(crate) fn line(&self, text: &str) -> anyhow::Result<()> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    pub(crate) fn list<T: Row + Serialize>(
        &self,
        format: Output,
        list: &[T],
    ) -> anyhow::Result<()> {
        match format {
            Output::Table => self.bytes(table(list).as_bytes()),
            Output::Json => self.json(&list),
            Output::Yaml => self.yaml(&list),
        }
    }

    pub(crate) fn object<T: Row + Serialize>(
        &self,
        format: Output,
        object: &T,
    ) -> anyhow::Result<()> {
        match format {
            Output::Table => self.bytes(table(std::slice::from_ref(object)).as_bytes()),
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
        self.bytes(&text)
    }

    fn yaml(&self, value: &impl Serialize) -> anyhow::Result<()> {
        self.bytes(&outrigger_goyaml::write_json(&serde_json::to_value(value)?))
    }
}

/// Formats rows as aligned columns separated by three spaces.
fn table<T: Row>(rows: &[T]) -> String {
    let header = T::HEADERS
        .iter()
        .map(|header| (*header).to_owned())
        .collect();
    let lines: Vec<Vec<String>> = std::iter::once(header)
        .chain(rows.iter().map(Row::cells))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|cells| cells[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..T::HEADERS.len()).map(width).collect();
    let mut text = String::new();
    for cells in &lines {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(padded.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}
