//! `outrigger image sync`.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_chart::images::{collision, relocate};
use outrigger_oci::{Copy, Reference, Source};

use super::images_of::{ImagesOf, read_lock};
use super::summary::{self, CopyFlags};
use crate::arguments::OutputFlag;
use crate::commands::registry_flags::RegistryFlags;
use crate::commands::runtime;
use crate::printer::Printer;
use crate::report::HintExt as _;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Registry, and optionally a path in it, to copy to; images keep their paths
    #[arg(long, value_name = "HOST[:PORT][/PATH]")]
    to: String,
    /// Pin images to the digests of this file if it exists, and write their digests to it
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    #[command(flatten)]
    copy: CopyFlags,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client()?;
    let mut images = args.images.references()?;
    if let Some(path) = args.lock.as_ref().filter(|path| path.exists()) {
        let lock = read_lock(path)?;
        for image in &mut images {
            if let Some(digest) = lock.get(image) {
                *image = image.pinned(digest.clone());
            }
        }
    }
    let copies = relocated(&images, &args.to)?;
    runtime::run(async {
        let source = Source::Registry(client.clone());
        let output = args.output.output;
        let (code, lock) = summary::copy(
            &source,
            &client,
            &copies,
            args.copy.options(),
            output,
            printer,
        )
        .await?;
        if let Some(path) = &args.lock {
            fs_err::write(path, lock.to_text())?;
        }
        Ok(code)
    })
}

/// The copies that relocate images to a registry, as plugins with `imageRegistry` expect them there.
pub(super) fn relocated(images: &[Reference], registry: &str) -> anyhow::Result<Vec<Copy>> {
    let registry = registry.trim_end_matches('/');
    let names: Vec<String> = images
        .iter()
        .map(|image| image.repository().to_string())
        .collect();
    let tagged: Vec<String> = images.iter().map(ToString::to_string).collect();
    if let Some(found) = collision(tagged.iter().map(String::as_str), registry) {
        let [a, b] = found.images;
        let refused = Err(anyhow::anyhow!(
            "{a} and {b} would both become {}",
            found.relocated
        ));
        return refused.hint("copy them in two runs, each to a path of its own");
    }
    let copy = |(image, name): (&Reference, &String)| {
        let target = image.moved(relocate(name, registry).parse()?);
        anyhow::Ok(Copy {
            source: image.clone(),
            target,
        })
    };
    images.iter().zip(&names).map(copy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_keep_their_paths_and_never_collide() {
        let images = |names: &[&str]| -> Vec<Reference> {
            names.iter().map(|name| name.parse().unwrap()).collect()
        };
        let copies = relocated(&images(&["nginx:1", "quay.io/a/b/c:2"]), "r.local:5000/m").unwrap();
        let targets: Vec<String> = copies.iter().map(|copy| copy.target.to_string()).collect();
        assert_eq!(
            targets,
            ["r.local:5000/m/library/nginx:1", "r.local:5000/m/a/b/c:2"]
        );
        assert!(relocated(&images(&["quay.io/a/b:1", "gcr.io/a/b:1"]), "r.local").is_err());
        assert!(relocated(&images(&["a:1"]), "https://r").is_err());
    }
}
