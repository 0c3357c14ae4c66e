//! All objects as text.

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
    /// Form of the objects
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t)]
    output: Form,
}

/// How objects are written.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Form {
    /// One YAML document for each object
    #[default]
    Yaml,
    /// One List
    Json,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let store = args.data.open()?;
    let snapshot = store.snapshot();
    let everything = Scope::everything();
    let objects: Result<Vec<Value>, _> = snapshot
        .list(&everything)
        .map(|object| serde_json::from_slice(object.bytes()))
        .collect();
    let objects = objects.context("failed to read an object")?;
    match args.output {
        Form::Yaml => {
            for object in &objects {
                printer.line("---")?;
                printer.value(Output::Yaml, object)?;
            }
        }
        Form::Json => {
            let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
            printer.value(Output::Json, &list)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
