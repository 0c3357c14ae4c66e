//! `outrigger expansion sign`: signs a built package.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use outrigger_expansion::resign;
use outrigger_expansion::signature::{self, KeyError, PrivateKey};

use super::opening::{archive_error, reader, writing};
use crate::printer::Printer;
use crate::report::hinted;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion sign --key demo.key demo.tar.zst
  outrigger expansion sign --key demo.key --expires 2027-12-31 demo.tar.zst";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Built package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// Private key to sign with, which only its owner can read
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    expiry: Expiry,
}

#[derive(Debug, clap::Args)]
pub(super) struct Expiry {
    /// Day (in UTC) or time after which the signature does not count; never by default
    #[arg(long, value_name = "TIME", requires = "key", value_parser = parse_time)]
    pub(super) expires: Option<Timestamp>,
}

/// `2027-12-31`, whose last moment counts, or RFC 3339.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let day: Date = text
        .parse()
        .map_err(|_| "use 2027-12-31 or 2027-12-31T12:00:00Z".to_owned())?;
    let next = day.tomorrow().and_then(|next| next.to_zoned(TimeZone::UTC));
    next.map(|next| next.timestamp())
        .map_err(|error| error.to_string())
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let key = read_key(&args.key)?;
    let path = args.package.clone();
    let expires = args.expiry.expires;
    let digest = writing(async |progress| {
        let signing = tokio::task::spawn_blocking(move || {
            let opened = reader(&path, &progress)?;
            let text = signature::sign(opened.signatures(), opened.root_bytes(), &key, expires);
            let text = text.map_err(signature_error)?;
            let digest = opened.digest();
            resign(opened, &text).map_err(archive_error)?;
            anyhow::Ok((digest, key.public().id()))
        });
        signing.await?
    })?;
    let (digest, id) = digest;
    printer.line(&format!(
        "{}: signed {digest} with key {id}",
        args.package.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn read_key(path: &Path) -> anyhow::Result<PrivateKey> {
    PrivateKey::read(path).map_err(key_error)
}

pub(crate) fn key_error(error: KeyError) -> anyhow::Error {
    let hint = error.hint();
    hinted(error, hint)
}

pub(crate) fn signature_error(error: signature::Error) -> anyhow::Error {
    let hint = error.hint();
    hinted(error, hint)
}
