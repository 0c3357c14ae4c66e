//! `outrigger stack diff`: what would be rendered, compared with what was rendered before.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_stack::Rendered;
use outrigger_stack::stage_files::{read_rendered, rendered_files};
use serde::Serialize;

use super::findings::require;
use super::sources::Sources;
use crate::arguments::{Output, OutputFlag};
use crate::printer::{Color, Printer, Row};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack diff
  outrigger stack diff --with build/demo -o json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
    /// Folder of an earlier `stack render`
    #[arg(long, value_name = "DIR", default_value = "stack")]
    with: PathBuf,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Change {
    Added,
    Changed,
    Removed,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Difference {
    path: String,
    change: Change,
}

impl Row for Difference {
    const HEADERS: &'static [&'static str] = &["CHANGE", "PATH"];

    fn cells(&self) -> Vec<String> {
        let change = match self.change {
            Change::Added => "added",
            Change::Changed => "changed",
            Change::Removed => "removed",
        };
        vec![change.to_owned(), self.path.clone()]
    }

    fn color(&self, column: usize) -> Option<Color> {
        let color = match self.change {
            Change::Added => Color::Green,
            Change::Changed => Color::Yellow,
            Change::Removed => Color::Red,
        };
        (column == 0).then_some(color)
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let pipeline = args.sources.pipeline()?;
    let initialised = require(pipeline.initialise())?;
    let new = require(pipeline.render(&initialised))?;
    let folder = args.with.join("render");
    let old = if folder.exists() {
        read_rendered(&folder)?
    } else {
        Rendered::default()
    };
    let differences = differences(&by_path(&old)?, &by_path(&new)?);
    if differences.is_empty() && args.output.output == Output::Table {
        printer.line("no differences")?;
        return Ok(ExitCode::SUCCESS);
    }
    printer.list(args.output.output, &differences)?;
    Ok(if differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn by_path(rendered: &Rendered) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    Ok(rendered_files(rendered)?.into_iter().collect())
}

fn differences(
    old: &BTreeMap<String, Vec<u8>>,
    new: &BTreeMap<String, Vec<u8>>,
) -> Vec<Difference> {
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let differences = paths.into_iter().filter_map(|path| {
        let change = match (old.get(path), new.get(path)) {
            (None, _) => Change::Added,
            (Some(_), None) => Change::Removed,
            (Some(old), Some(new)) if old == new => return None,
            _ => Change::Changed,
        };
        Some(Difference {
            path: path.clone(),
            change,
        })
    });
    differences.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_changed_and_removed_files_are_listed_by_path() {
        let files = |all: &[(&str, &str)]| {
            let all = all.iter();
            all.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect()
        };
        let old = files(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let new = files(&[("b", "2"), ("c", "1"), ("d", "1")]);
        let found = differences(&old, &new);
        let found: Vec<(&str, Change)> = found
            .iter()
            .map(|it| (it.path.as_str(), it.change))
            .collect();
        let expected = [
            ("a", Change::Removed),
            ("b", Change::Changed),
            ("d", Change::Added),
        ];
        assert_eq!(found, expected);
    }
}
