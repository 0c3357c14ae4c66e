//! `outrigger expansion merge-config`: prints a configuration with what a package adds.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, ensure};
use clap::ValueEnum;
use outrigger_expansion::merge::Base;
use outrigger_expansion::{Finding, Package, merge, verify};

use super::opening::BaseFlag;
use super::summary;
use crate::arguments::Output;
use crate::input_file;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion merge-config ./demo --config tke.json -o json
  outrigger expansion merge-config demo.tar.zst --config cluster.yaml";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder, built package, or one of its chunks
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    #[command(flatten)]
    base: BaseFlag,
    /// Configuration: tke.json, or the manifest of a cluster; - is stdin
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Yaml,
    Json,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let package = verified(&args.package, &args.base)?;
    let base = read_base(&args.config)?;
    let effective = match merge(&base, &package) {
        Ok(effective) => effective,
        Err(conflicts) => {
            for conflict in &conflicts {
                note(&format!("conflict: {conflict}"));
            }
            let config = args.config.display();
            return Err(anyhow!("package {} conflicts with {config}", package.name))
                .hint("change the configuration or the package, so that each field has one owner");
        }
    };
    for effective_note in &effective.notes {
        note(&format!("note: {effective_note}"));
    }
    let format = match args.output {
        Format::Yaml => Output::Yaml,
        Format::Json => Output::Json,
    };
    printer.value(format, &effective.document)?;
    Ok(ExitCode::SUCCESS)
}

/// The package, unless a finding is fatal.
fn verified(folder: &Path, base: &BaseFlag) -> anyhow::Result<Package> {
    let scanned = base.open(folder)?.scanned;
    let findings = verify(&scanned);
    if findings.iter().any(Finding::is_fatal) {
        let error = anyhow!("{} has {}", folder.display(), summary(&findings));
        let folder = folder.display();
        return Err(error).hint(format!("`outrigger expansion check {folder}` shows them"));
    }
    let (package, _) = Package::read(&scanned);
    Ok(package)
}

fn read_base(path: &Path) -> anyhow::Result<Base> {
    let (name, text) = if path == Path::new("-") {
        let text = String::from_utf8(input_file::read_stdin()?).context("stdin")?;
        ("stdin".to_owned(), text)
    } else {
        ensure!(path.exists(), "{} does not exist", path.display());
        (path.display().to_string(), input_file::read_text(path)?)
    };
    Ok(Base::parse(&name, &text)?)
}
