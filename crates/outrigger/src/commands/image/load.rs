//! `outrigger image load`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use outrigger_oci::{Archive, ArchivedImage, Reference, Source};

use super::summary::{PluginResults, PushFlags};
use crate::commands::registry_flags::hinted;
use crate::commands::runtime;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Archive of `docker save`, an OCI layout folder, or its archive; gzip and zstd are detected
    archive: PathBuf,
    #[command(flatten)]
    push: PushFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let archive = Archive::open(&args.archive).map_err(hinted)?;
    let images = names(&archive)?;
    runtime::run(async {
        let source = Source::Archive(Arc::new(archive));
        let pushed = args
            .push
            .push(&source, &images, PluginResults::default(), printer);
        Ok(pushed.await?.0)
    })
}

/// The names of all images, each at its digest, so that equal names do not hide an image.
fn names(archive: &Archive) -> anyhow::Result<Vec<Reference>> {
    let mut names = Vec::new();
    for ArchivedImage {
        names: found,
        digest,
    } in archive.images()
    {
        anyhow::ensure!(
            !found.is_empty(),
            "the image {digest} of the archive has no name"
        );
        for name in found {
            let name: Reference = name
                .parse()
                .with_context(|| format!("the image {digest} has an invalid name"))?;
            names.push(name.pinned(digest.clone()));
        }
    }
    anyhow::ensure!(!names.is_empty(), "the archive has no images");
    Ok(names)
}
