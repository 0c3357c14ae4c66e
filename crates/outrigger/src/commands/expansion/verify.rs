//! `outrigger expansion verify`: checks who signed a package, and every byte of it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use jiff::Timestamp;
use outrigger_expansion::archive::Discard;
use outrigger_expansion::signature::{self, PublicKey, Verified};
use serde::Serialize;

use super::opening::{BaseFlag, archive_error, reader, reading};
use super::sign::{key_error, signature_error};
use crate::arguments::{Output, OutputFlag};
use crate::printer::{Field, Printer};
use crate::report::HintExt as _;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion verify demo.tar.zst --trusted-key demo.pub
  outrigger expansion verify demo-1.1.0.tar.zst --base demo-1.0.0.tar.zst --trusted-key demo.pub
  outrigger expansion verify demo.tar.zst --allow-unsigned";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Built package, or one of its chunks
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    #[command(flatten)]
    base: BaseFlag,
    /// Public key that is trusted; repeatable
    #[arg(long = "trusted-key", value_name = "FILE")]
    trusted_keys: Vec<PathBuf>,
    /// Accept a package without signatures. A signature that it has must count all the same
    #[arg(long)]
    allow_unsigned: bool,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    digest: String,
    files: usize,
    signatures: Vec<Verified>,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let keys = args
        .trusted_keys
        .iter()
        .map(|path| PublicKey::read(path).map_err(key_error));
    let keys: Vec<PublicKey> = keys.collect::<anyhow::Result<_>>()?;
    if !args.allow_unsigned {
        let keys = ensure_keys(&keys);
        keys.hint("pass a public key with --trusted-key, or --allow-unsigned")?;
    }
    let (path, base, allow_unsigned) =
        (args.package.clone(), args.base.clone(), args.allow_unsigned);
    let report = reading(move |progress| {
        let package = reader(&path, progress)?;
        let verified = signature::verify(
            package.signatures(),
            package.root_bytes(),
            &keys,
            Timestamp::now(),
        );
        let signatures = match verified {
            Err(signature::Error::Unsigned) if allow_unsigned => Vec::new(),
            other => other.map_err(signature_error)?,
        };
        let report = Report {
            name: package.root().name.clone(),
            version: package.root().version.clone(),
            digest: package.digest().to_string(),
            files: package.lock().entries().count(),
            signatures,
        };
        let base = base.reader(progress)?;
        package.read(base, &mut Discard).map_err(archive_error)?;
        Ok(report)
    })?;
    print(&report, args.output.output, printer)?;
    Ok(ExitCode::SUCCESS)
}

fn ensure_keys(keys: &[PublicKey]) -> anyhow::Result<()> {
    ensure!(!keys.is_empty(), "no key is trusted");
    Ok(())
}

fn print(report: &Report, output: Output, printer: &Printer) -> anyhow::Result<()> {
    if output != Output::Table {
        return printer.value(output, report);
    }
    let version = report.version.clone().unwrap_or_default();
    let signed = report
        .signatures
        .iter()
        .map(|signature| match &signature.expires {
            Some(expires) => format!("by {} until {expires}", signature.key),
            None => format!("by {}", signature.key),
        });
    let signed: Vec<String> = signed.collect();
    let signed = if signed.is_empty() {
        "no".to_owned()
    } else {
        signed.join(", ")
    };
    printer.fields(&[
        Field::new(
            "Package",
            format!("{} {version}", report.name).trim_end().to_owned(),
        ),
        Field::new("Digest", report.digest.clone()),
        Field::new("Verified", format!("{} files", report.files)),
        Field::new("Signed", signed),
    ])
}
