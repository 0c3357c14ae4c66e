//! `outrigger expansion diff`: shows what changed between two built packages.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_expansion::{Amount, Change, Difference, Kind, carried, diff};
use serde::Serialize;

use super::opening::{reader, reading};
use crate::arguments::{Output, OutputFlag};
use crate::commands::size::Size;
use crate::plural::counted;
use crate::printer::{Color, Printer, Row};
use crate::report::note;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion diff demo-1.0.0.tar.zst demo-1.1.0.tar.zst
  outrigger expansion diff demo-1.0.0.tar.zst demo-1.1.0.tar.zst -o json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Built package, or one of its chunks; a delta needs no base
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The same, built later
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Line(Difference);

impl Row for Line {
    const HEADERS: &'static [&'static str] = &["CHANGE", "KIND", "NAME", "BEFORE", "AFTER"];

    fn cells(&self) -> Vec<String> {
        let difference = &self.0;
        let shown = |amount: &Option<Amount>| match amount {
            None => String::new(),
            Some(Amount::Bytes(bytes)) => Size::from(*bytes).to_string(),
            Some(Amount::Text(text)) => text.chars().take(19).collect(),
        };
        let name = match difference.kind {
            Kind::Blob => difference.name.chars().take(19).collect(),
            _ => difference.name.clone(),
        };
        vec![
            difference.change.to_string(),
            difference.kind.to_string(),
            name,
            shown(&difference.before),
            shown(&difference.after),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        let color = match self.0.change {
            Change::Added => Color::Green,
            Change::Changed => Color::Yellow,
            Change::Removed => Color::Red,
        };
        (column == 0).then_some(color)
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (before, after) = (args.before.clone(), args.after.clone());
    let (differences, (count, bytes)) = reading(move |progress| {
        let (before, after) = (reader(&before, progress)?, reader(&after, progress)?);
        let differences = diff((before.root(), before.lock()), (after.root(), after.lock()));
        Ok((differences, carried(before.lock(), after.lock())))
    })?;
    if args.output.output == Output::Table && differences.is_empty() {
        note("the packages have the same content");
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<Line> = differences.into_iter().map(Line).collect();
    printer.list(args.output.output, &lines)?;
    if args.output.output == Output::Table {
        let files = counted(count, "file");
        note(&format!(
            "a delta would carry {files}, {}",
            Size::from(bytes)
        ));
    }
    Ok(ExitCode::SUCCESS)
}
