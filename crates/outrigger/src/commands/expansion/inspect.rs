//! `outrigger expansion inspect`: shows what a package contains, and where it goes.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_expansion::{Package, PackagedFile, Text, verify};
use serde::Serialize;

use super::opening::{BaseFlag, note_built};
use super::summary;
use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};
use crate::report::note;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion inspect ./demo
  outrigger expansion inspect demo.tar.zst
  outrigger expansion inspect ./demo -o json";

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

/// Something that the package contains or changes.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    kind: &'static str,
    name: String,
    /// On the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<String>,
    /// Permission bits, in octal.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<bool>,
}

impl Row for Item {
    const HEADERS: &'static [&'static str] =
        &["KIND", "NAME", "DESTINATION", "MODE", "HOOK", "RENDERED"];

    fn cells(&self) -> Vec<String> {
        let rendered = match self.rendered {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        vec![
            self.kind.to_owned(),
            self.name.clone(),
            self.destination.clone().unwrap_or_default(),
            self.mode.clone().unwrap_or_default(),
            self.hook.unwrap_or_default().to_owned(),
            rendered.to_owned(),
        ]
    }
}

impl From<&PackagedFile> for Item {
    fn from(file: &PackagedFile) -> Self {
        Self {
            kind: "file",
            name: file.path.clone(),
            destination: Some(file.dst.clone()),
            mode: Some(format!("{:04o}", file.mode)),
            hook: file.hook,
            rendered: Some(file.is_rendered),
        }
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let opened = args.base.open(&args.package)?;
    let scanned = opened.scanned;
    if let Some(built) = &opened.built {
        note_built(&args.package, built);
    }
    let (package, _) = Package::read(&scanned);
    let findings = verify(&scanned);
    if !findings.is_empty() {
        let folder = args.package.display();
        let summary = summary(&findings);
        note(&format!(
            "{summary}; `outrigger expansion check {folder}` shows them"
        ));
    }
    printer.list(args.output.output, &items(&package))?;
    Ok(ExitCode::SUCCESS)
}

fn items(package: &Package) -> Vec<Item> {
    let definition = &package.definition;
    let list = |kind: &'static str, prefix: &str, names: &[Text]| -> Vec<Item> {
        let names = names.iter().map(|name| Item {
            kind,
            name: format!("{prefix}{}", name.value),
            ..Item::default()
        });
        names.collect()
    };
    let mut items = list("chart", "charts/", &definition.charts);
    items.extend(list("image", "", &definition.images));
    items.extend(package.files.iter().map(Item::from));
    items.extend(list("installer hook", "hooks/", &definition.hooks));
    items.extend(list("provider file", "provider/", &definition.provider));
    items.extend(list("plugin", "plugins/", &definition.plugins));
    items.extend(list("operator", "", definition.operator.as_slice()));
    items.extend(list(
        "skipped installer step",
        "",
        &definition.installer_skip_steps,
    ));
    let skipped = &definition.create_cluster_skip_conditions;
    items.extend(list("skipped step", "", skipped));
    let delegated = &definition.create_cluster_delegate_conditions;
    items.extend(list("delegated step", "", delegated));
    for (component, arguments) in &definition.create_cluster_extra_args {
        items.extend(arguments.iter().map(|(name, value)| Item {
            kind: "argument",
            name: format!("{component}.{name}={}", value.value),
            ..Item::default()
        }));
    }
    items
}
