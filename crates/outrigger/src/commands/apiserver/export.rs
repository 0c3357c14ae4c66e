//! Prints the objects as YAML or JSON: as manifests, or as they are stored.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use outrigger_store::{Object, OpenError, Options, Scope, Store};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::manifest::{Provisioned, creation_order, manifest};
use crate::arguments::Output;
use crate::printer::Printer;
use crate::report::hinted;

pub(super) const EXAMPLES: &str = "\
Manifests have what users specify: no status, no UIDs, and no objects that a server or a controller creates
itself, such as Events, the Pods of a Deployment, provisioned volumes or the default roles. Secrets are printed too.

Examples:
  outrigger apiserver export --data ./data > objects.yaml
  kubectl apply --server-side -f objects.yaml     Again if it has custom resources: their definitions must be served first
  outrigger apiserver export --data ./data --raw -o json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Data folder of the server, which must be stopped
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print all objects as they are stored
    #[arg(long)]
    raw: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Format {
    /// One YAML document per object
    #[default]
    Yaml,
    /// One List object
    Json,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let store = open(&args.data)?;
    let snapshot = store.snapshot();
    let scope = Scope::everything();
    let objects = snapshot.list(&scope).map(|object| Item::parse(object));
    let mut items: Vec<Item<'_>> = objects.collect::<Result<_, _>>()?;
    if !args.raw {
        let provisioned = Provisioned::of(items.iter().filter_map(Item::value));
        items = items
            .into_iter()
            .filter_map(|item| item.into_manifest(&provisioned))
            .collect();
        items.sort_by(Item::creation_order);
    }
    match args.output {
        Format::Yaml => {
            for item in &items {
                printer.line("---")?;
                match item {
                    Item::Value(value) => printer.value(Output::Yaml, value)?,
                    // JSON is YAML too.
                    Item::Deep(json) => {
                        printer.data(json.get().as_bytes())?;
                        printer.line("")?;
                    }
                }
            }
        }
        Format::Json => {
            let list = List {
                api_version: "v1",
                items,
                kind: "List",
            };
            printer.value(Output::Json, &list)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn open(folder: &Path) -> anyhow::Result<Store> {
    let opened = Store::open(Options::in_existing_folder(folder)).map_err(|error| {
        let is_used = matches!(error, OpenError::InUse { .. });
        let hint = "stop the server; or back it up while it runs with `outrigger apiserver backup`, restore the backup to a \
                    new folder, and export that";
        hinted(error, is_used.then(|| hint.to_owned()))
    });
    opened.context("failed to open the data folder")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'o> {
    api_version: &'static str,
    items: Vec<Item<'o>>,
    kind: &'static str,
}

/// A stored object.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'o> {
    Value(Value),
    /// Nested too deep to be parsed: an older version stored it.
    Deep(&'o RawValue),
}

impl<'o> Item<'o> {
    fn parse(object: &'o Object) -> anyhow::Result<Self> {
        let bytes = object.bytes();
        let item = serde_json::from_slice(bytes).map(Self::Value);
        item.or_else(|_| serde_json::from_slice(bytes).map(Self::Deep))
            .with_context(|| format!("failed to parse {}", object.key()))
    }

    fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Deep(_) => None,
        }
    }

    /// A deep object stays as it is.
    fn into_manifest(self, provisioned: &Provisioned) -> Option<Self> {
        match self {
            Self::Value(value) => manifest(value, provisioned).map(Self::Value),
            deep @ Self::Deep(_) => Some(deep),
        }
    }

    fn creation_order(a: &Self, b: &Self) -> Ordering {
        match (a, b) {
            (Self::Value(a), Self::Value(b)) => creation_order(a, b),
            _ => Ordering::Equal,
        }
    }
}
