//! `outrigger expansion check`: reports all findings of a package.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use outrigger_expansion::{Finding, Package, Scanned, verify};

use super::opening::{BaseFlag, note_built};
use super::summary;
use crate::arguments::{Output, OutputFlag};
use crate::plural::counted;
use crate::printer::{Color, Printer, is_colored};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion check ./demo
  outrigger expansion check demo.tar.zst
  outrigger expansion check demo-1.1.0.tar.zst --base demo-1.0.0.tar.zst
  outrigger expansion check ./demo -o json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder, built package, or one of its chunks
    #[arg(value_name = "PACKAGE", default_value = ".")]
    package: PathBuf,
    #[command(flatten)]
    base: BaseFlag,
    #[command(flatten)]
    output: OutputFlag,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let opened = args.base.open(&args.package)?;
    let scanned = opened.scanned;
    if let Some(built) = &opened.built {
        note_built(&args.package, built);
    }
    let findings = verify(&scanned);
    if args.output.output == Output::Table {
        for finding in &findings {
            print(&args.package, finding, printer)?;
        }
        printer.line(&format!("{}: {}", contents(&scanned), summary(&findings)))?;
    } else {
        printer.value(args.output.output, &findings)?;
    }
    Ok(if findings.iter().any(Finding::is_fatal) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// `fatal: demo/expansion.yaml:3: MESSAGE`, with a hint below.
fn print(folder: &Path, finding: &Finding, printer: &Printer) -> anyhow::Result<()> {
    let color = if finding.is_fatal() {
        Color::Red
    } else {
        Color::Yellow
    };
    let severity = finding.severity.to_string();
    let location = folder.join(finding.location());
    let location = location.strip_prefix(".").unwrap_or(&location).display();
    let mut text = format!("{severity}: {location}: {}\n", finding.message);
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("  hint: {hint}\n"));
    }
    // Colors pass the printer only if nothing else does.
    let plain = crate::printable::lines(&text);
    let rest = plain.strip_prefix(&severity).unwrap_or(&plain);
    printer.raw(format!("{}{rest}", color.paint(&severity, is_colored())).as_bytes())
}

/// `package demo 0.1.0 (1 chart, 2 images, 3 files, 1 hook)`
fn contents(scanned: &Scanned) -> String {
    let (package, _) = Package::read(scanned);
    let definition = &package.definition;
    let counts = [
        (definition.charts.len(), "chart"),
        (definition.images.len(), "image"),
        (package.files.len(), "file"),
        (definition.hooks.len(), "hook"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, noun)| counted(count, noun)).collect();
    let version = package.version.as_ref();
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let name = format!("package {}{version}", package.name);
    if counts.is_empty() {
        name
    } else {
        format!("{name} ({})", counts.join(", "))
    }
}
