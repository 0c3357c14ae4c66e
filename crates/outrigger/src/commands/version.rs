//! `outrigger version`: prints version and platform of this build.

use std::process::ExitCode;

use serde::Serialize;

use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};

const EXAMPLES: &str = "\
Examples:
  outrigger version
  outrigger version -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Version {
    version: &'static str,
    platform: String,
}

impl Row for Version {
    const HEADERS: &'static [&'static str] = &["VERSION", "PLATFORM"];

    fn cells(&self) -> Vec<String> {
        vec![self.version.to_owned(), self.platform.clone()]
    }
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let version = Version {
        version: env!("CARGO_PKG_VERSION"),
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    };
    printer.object(args.output.output, &version)?;
    Ok(ExitCode::SUCCESS)
}
