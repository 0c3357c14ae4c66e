//! `outrigger image inspect`.

use std::process::ExitCode;

use outrigger_oci::{Platform, Reference, Source, Tree};
use serde::Serialize;

use crate::arguments::OutputFlag;
use crate::commands::registry_flags::{RegistryFlags, hinted};
use crate::commands::runtime;
use crate::commands::size::Size;
use crate::printer::{Printer, Row};

const EXAMPLES: &str = "\
Examples:
  outrigger image inspect nginx:1.29
  outrigger image inspect registry.local:5000/org/web:1 --plain-http registry.local:5000 -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Image
    image: Reference,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// One manifest of an image: the image itself, its index, or the image of one platform.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    digest: String,
    media_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    layers: Vec<String>,
    /// Bytes of all blobs, of an index those of all its images
    size: u64,
    #[serde(skip)]
    is_index: bool,
}

impl Row for Manifest {
    const HEADERS: &'static [&'static str] = &["DIGEST", "PLATFORM", "LAYERS", "SIZE"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.digest.clone(),
            match &self.platform {
                Some(platform) => platform.clone(),
                None if self.is_index => "index".to_owned(),
                None => String::new(),
            },
            if self.is_index {
                String::new()
            } else {
                self.layers.len().to_string()
            },
            Size::from(self.size).to_string(),
        ]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client(Some(args.image.registry()))?;
    runtime::run(async {
        let source = Source::Registry(client);
        let found = source.resolve(&args.image).await.map_err(hinted)?;
        let tree = Tree::read(&source, found.location.repository(), found.manifest)
            .await
            .map_err(hinted)?;
        let repository = found.location.repository();
        let platform = if tree.root().parsed.is_index() {
            None
        } else {
            // What is unusual about a config does not keep the rest from being shown.
            let platform = source.platform(repository, tree.root()).await;
            platform.unwrap_or_default()
        };
        printer.list(args.output.output, &rows(&tree, platform.as_ref()))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The manifests of an image. `platform` is that of an image without an index.
fn rows(tree: &Tree, platform: Option<&Platform>) -> Vec<Manifest> {
    let all: Vec<_> = std::iter::once(tree.root())
        .chain(tree.children())
        .collect();
    let platforms: Vec<_> = all
        .iter()
        .flat_map(|manifest| manifest.parsed.children())
        .collect();
    all.iter()
        .map(|manifest| {
            let descriptor = platforms
                .iter()
                .find(|child| child.digest == manifest.digest);
            let platform = match descriptor {
                Some(child) => child.platform.as_ref(),
                None => platform,
            };
            Manifest {
                digest: manifest.digest.to_string(),
                media_type: manifest.media_type.clone(),
                platform: platform.map(ToString::to_string),
                layers: manifest
                    .parsed
                    .layers
                    .iter()
                    .flatten()
                    .map(|layer| layer.digest.to_string())
                    .collect(),
                size: if manifest.digest == tree.root().digest {
                    tree.blobs().iter().map(|blob| blob.size).sum()
                } else {
                    manifest.parsed.blobs().map(|blob| blob.size).sum()
                },
                is_index: manifest.parsed.is_index(),
            }
        })
        .collect()
}
