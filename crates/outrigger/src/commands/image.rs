//! `outrigger image`: lists, copies, saves and loads images.

use std::process::ExitCode;

use crate::printer::Printer;

mod copy;
mod images_of;
mod inspect;
mod list;
mod load;
mod plugin_set;
mod progress;
mod save;
mod summary;
mod sync;
mod verify;

const EXAMPLES: &str = "\
Examples:
  outrigger image list --chart ./chart
  outrigger image copy quay.io/org/web:1 registry.local:5000/org/web:1
  outrigger image sync --chart ./chart --to registry.local:5000 --lock images.lock
  outrigger image sync --plugins site.yaml --to registry.local:5000
  outrigger image save --chart ./chart --platform linux/amd64 --to images.tar.zst
  outrigger image load images.tar.zst --to registry.local:5000
  outrigger image verify --chart ./chart --in registry.local:5000";

/// List, copy, save and load images
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Copy one image from a registry to another one
    Copy(copy::Args),
    /// Show the manifest, platforms and layers of an image
    Inspect(inspect::Args),
    /// List the images of charts and lists
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Push the images of an archive to a registry
    Load(load::Args),
    /// Write images and their signatures to an archive or an OCI layout
    Save(save::Args),
    /// Copy the images of charts and lists to a registry; safe to repeat and to interrupt
    Sync(sync::Args),
    /// Check that a lock file or a registry has all images of charts and lists
    Verify(verify::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Copy(args) => copy::run(args, printer),
        Verb::Inspect(args) => inspect::run(args, printer),
        Verb::List(args) => list::run(args, printer),
        Verb::Load(args) => load::run(args, printer),
        Verb::Save(args) => save::run(args, printer),
        Verb::Sync(args) => sync::run(args, printer),
        Verb::Verify(args) => verify::run(args, printer),
    }
}
