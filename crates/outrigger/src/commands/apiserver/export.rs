//! Prints all objects as YAML or JSON.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use outrigger_store::{Object, Options, Scope, Store};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::check_exists;
use crate::arguments::Output;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Data folder of the server, which must be stopped
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
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
    check_exists(&args.data)?;
    let store = Store::open(Options::in_folder(&args.data));
    let store = store.context("failed to open the data folder")?;
    let snapshot = store.snapshot();
    let scope = Scope::everything();
    let objects = snapshot.list(&scope);
    match args.output {
        Format::Yaml => {
            for object in objects {
                printer.line("---")?;
                match Item::parse(object)? {
                    Item::Value(value) => printer.value(Output::Yaml, &value)?,
                    // JSON is YAML too.
                    Item::Deep(json) => printer.line(json.get())?,
                }
            }
        }
        Format::Json => {
            let items: anyhow::Result<Vec<Item<'_>>> =
                objects.map(|object| Item::parse(object)).collect();
            let list = List {
                api_version: "v1",
                items: items?,
                kind: "List",
            };
            printer.value(Output::Json, &list)?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
}
