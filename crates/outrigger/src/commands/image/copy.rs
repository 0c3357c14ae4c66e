//! `outrigger image copy`.

use std::process::ExitCode;

use outrigger_oci::{Copy, Reference, Source};

use super::summary::{self, CopyFlags, PluginResults};
use crate::arguments::OutputFlag;
use crate::commands::registry_flags::RegistryFlags;
use crate::commands::runtime;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger image copy quay.io/org/web:1 registry.local:5000/org/web:1
  outrigger image copy nginx:1.29 registry.local:5000/library/nginx:1.29 --platform linux/amd64
  outrigger image copy quay.io/org/web:1 registry.local/org/web:1 --username ann --password-stdin < password";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Image to copy
    source: Reference,
    /// Its new name
    target: Reference,
    #[command(flatten)]
    copy: CopyFlags,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client(Some(args.target.registry()))?;
    let copy = Copy {
        source: args.source.clone(),
        target: args.target.clone(),
    };
    runtime::run(async {
        let source = Source::Registry(client.clone());
        let output = args.output.output;
        let (code, _) = summary::copy(
            &source,
            &client,
            &[copy],
            PluginResults::default(),
            args.copy.options(),
            output,
            printer,
        )
        .await?;
        Ok(code)
    })
}
