//! `outrigger expansion keygen`: makes a pair of keys for signing packages.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fs_err::os::unix::fs::OpenOptionsExt as _;
use outrigger_expansion::signature::PrivateKey;
use serde::Serialize;

use super::sign::key_error;
use crate::arguments::{Output, OutputFlag};
use crate::printer::{Field, Printer};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion keygen demo                    Write demo.key and demo.pub
  openssl genpkey -algorithm ed25519 -out demo.key   Do the same with OpenSSL
  openssl pkey -in demo.key -pubout -out demo.pub";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Beginning of the names of the files, which must not exist
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    private_key: String,
    public_key: String,
    id: String,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let file = |suffix: &str| PathBuf::from(format!("{}.{suffix}", args.name));
    let (private, public) = (file("key"), file("pub"));
    anyhow::ensure!(!private.exists(), "{} already exists", private.display());
    anyhow::ensure!(!public.exists(), "{} already exists", public.display());
    let key = PrivateKey::generate().map_err(key_error)?;
    write(&private, 0o600, &key.to_pem().map_err(key_error)?)?;
    write(&public, 0o644, &key.public().to_pem())?;
    let pair = Pair {
        private_key: private.display().to_string(),
        public_key: public.display().to_string(),
        id: key.public().id(),
    };
    if args.output.output == Output::Table {
        printer.fields(&[
            Field::new("Private key", pair.private_key),
            Field::new("Public key", pair.public_key),
            Field::new("Id", pair.id),
        ])?;
    } else {
        printer.value(args.output.output, &pair)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
    let mut options = fs_err::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}
