//! `outrigger image verify`: the closure check.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgGroup;
use futures::stream::{self, StreamExt as _};
use outrigger_chart::images::Confidence;
use outrigger_oci::{Client, Copy, Error, Lock, Reference, Source, Tree};
use serde::Serialize;

use super::images_of::{ImagesOf, read_lock};
use super::summary::chain;
use super::sync::relocated;
use crate::arguments::{Output, OutputFlag};
use crate::commands::registry_flags::RegistryFlags;
use crate::commands::registry_name::{host_of, parse_prefix};
use crate::commands::runtime;
use crate::plural::counted;
use crate::printer::{Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger image verify --chart ./chart --lock images.lock
  outrigger image verify --chart ./chart --in registry.local:5000
  outrigger image verify --from-lock images.lock --in registry.local:5000";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("against").args(["lock", "registry"]).required(true).multiple(true))]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Lock file that must have all images; with --in, tags of the registry must have its digests
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Registry that must have all images and their blobs, at their relocated names
    #[arg(long = "in", value_name = "HOST[:PORT][/PATH]", value_parser = parse_prefix)]
    registry: Option<String>,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Finding {
    image: String,
    problem: String,
}

impl Row for Finding {
    const HEADERS: &'static [&'static str] = &["IMAGE", "PROBLEM"];

    fn cells(&self) -> Vec<String> {
        vec![self.image.clone(), self.problem.clone()]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let server = args.registry.as_deref().map(host_of);
    let found = args
        .images
        .find(&args.registries, server, Confidence::Likely)?;
    found.check()?;
    let images = found.references();
    let mut findings = Vec::new();
    let mut locks = Vec::new();
    for path in args.lock.iter().chain(&args.images.from_lock) {
        locks.push((path.display().to_string(), read_lock(path)?));
    }
    if args.lock.is_some() {
        let (path, lock) = &locks[0];
        findings.extend(lock.missing(&images).into_iter().map(|image| Finding {
            image: image.to_string(),
            problem: format!("not in {path}"),
        }));
    }
    if let Some(registry) = &args.registry {
        let copies = relocated(&images, registry)?;
        let client = args.registries.client(server)?;
        findings.extend(runtime::run(async {
            Ok(check(&client, &copies, &locks).await)
        })?);
    }
    if findings.is_empty() && args.output.output == Output::Table {
        note(&format!(
            "{}, none is missing",
            counted(images.len(), "image")
        ));
        return Ok(ExitCode::SUCCESS);
    }
    printer.list(args.output.output, &findings)?;
    if args.registry.is_some() && !findings.is_empty() {
        note(
            "`outrigger image sync --check-blobs` copies what a registry does not have; with --lock, at the locked digests",
        );
    }
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Lock files, with their names.
type Locks = [(String, Lock)];

async fn check(client: &Client, copies: &[Copy], locks: &Locks) -> Vec<Finding> {
    let checks = copies.iter().map(|copy| async {
        let moved = check_tag(client, copy, locks).await;
        let problem = match moved {
            Ok(None) => {
                let complete = check_image(client, &copy.target).await;
                complete.err().map(|error| chain(&error))
            }
            Ok(Some(problem)) => Some(problem),
            Err(error) => Some(chain(&error)),
        };
        problem.map(|problem| Finding {
            image: copy.source.to_string(),
            problem,
        })
    });
    let found: Vec<Option<Finding>> = stream::iter(checks.collect::<Vec<_>>())
        .buffered(4)
        .collect()
        .await;
    found.into_iter().flatten().collect()
}

/// What is wrong with the tag of an image whose digest is locked.
async fn check_tag(client: &Client, copy: &Copy, locks: &Locks) -> Result<Option<String>, Error> {
    let Some(tag) = copy.target.tag() else {
        return Ok(None);
    };
    let tagged = copy.target.repository().with_tag(tag)?;
    for (path, lock) in locks {
        let Some(locked) = lock.get(&copy.source) else {
            continue;
        };
        let found = client.manifest(&tagged).await?;
        if !found.is(locked) {
            let digest = found.digest;
            let problem = format!("{tagged} has digest {digest}, but {path} has {locked}");
            return Ok(Some(problem));
        }
    }
    Ok(None)
}

/// Whether all manifests and blobs of an image are there.
async fn check_image(client: &Client, image: &Reference) -> Result<(), Error> {
    let source = Source::Registry(client.clone());
    let manifest = client.manifest(image).await?;
    let tree = Tree::read(&source, image.repository(), manifest).await?;
    for blob in tree.blobs() {
        if client.blob_size(image.repository(), &blob.digest).await? != Some(blob.size) {
            return Err(Error::NotFound {
                what: format!("blob {} of {image}", blob.digest),
            });
        }
    }
    Ok(())
}
