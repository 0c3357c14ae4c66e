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
    #[arg(value_parser = parse_target)]
    target: Reference,
    #[command(flatten)]
    copy: CopyFlags,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// The new name of an image. A registry alone would be taken for an image of Docker Hub with the port as its tag.
fn parse_target(text: &str) -> Result<Reference, String> {
    let is_registry = text.rsplit_once(':').is_some_and(|(host, port)| {
        (host.contains(['.', '[']) || host == "localhost")
            && !host.contains('/')
            && port.parse::<u16>().is_ok()
    });
    if is_registry {
        return Err(format!(
            "it names a registry, but no repository; use {text}/REPOSITORY:TAG"
        ));
    }
    text.parse()
        .map_err(|error: outrigger_oci::InvalidReference| error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_a_repository() {
        for text in ["127.0.0.1:6010", "localhost:5000", "r.local:5000"] {
            let error = parse_target(text).unwrap_err();
            assert!(error.contains("no repository"), "{text}: {error}");
        }
        for text in ["nginx:1.29", "nginx:5000", "127.0.0.1:6010/org/web:1"] {
            assert!(parse_target(text).is_ok(), "{text}");
        }
    }
}
