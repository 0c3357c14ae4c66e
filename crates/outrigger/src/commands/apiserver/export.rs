//! Prints all objects as YAML or JSON.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use outrigger_store::Scope;
use serde_json::Value;

use super::DataFlag;
use crate::arguments::Output;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataFlag,
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
    let store = args.data.open()?;
    let snapshot = store.snapshot();
    let scope = Scope::everything();
    let objects: Result<Vec<Value>, _> = snapshot
        .list(&scope)
        .map(|object| serde_json::from_slice(object.bytes()))
        .collect();
    let objects = objects.context("failed to parse a stored object")?;
    match args.output {
        Format::Yaml => {
            for object in &objects {
                printer.line("---")?;
                printer.value(Output::Yaml, object)?;
            }
        }
        Format::Json => {
            let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
            printer.value(Output::Json, &list)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
