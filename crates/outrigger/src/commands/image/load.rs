//! `outrigger image load`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use outrigger_oci::{Archive, ArchivedImage, Digest, Reference, Repository, Source, is_tag};

use super::summary::{PluginResults, PushFlags};
use crate::commands::registry_flags::hinted;
use crate::commands::runtime;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger image load images.tar.zst --to registry.local:5000
  outrigger image load /media/disk/images/ --to registry.local:5000/mirror --plain-http registry.local:5000
  outrigger image load layout.tar --name docker.io/library/nginx --to registry.local:5000";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Archive of `docker save`, an OCI layout folder, or its archive; gzip and zstd are detected
    archive: PathBuf,
    /// Name of an image that has only a tag in the archive, or no name
    #[arg(long, value_name = "REPOSITORY")]
    name: Option<Repository>,
    #[command(flatten)]
    push: PushFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let archive = Archive::open(&args.archive).map_err(hinted)?;
    let images = names(archive.images(), args.name.as_ref())?;
    runtime::run(async {
        let source = Source::Archive(Arc::new(archive));
        let pushed = args
            .push
            .push(&source, &images, PluginResults::default(), printer);
        Ok(pushed.await?.0)
    })
}

/// The names of all images, each at its digest, so that equal names do not hide an image.
fn names(
    images: &[ArchivedImage],
    repository: Option<&Repository>,
) -> anyhow::Result<Vec<Reference>> {
    let mut names: Vec<Reference> = Vec::new();
    for image in images {
        let digest = &image.digest;
        let mut found: Vec<Reference> = Vec::new();
        for name in &image.names {
            found.push(if is_only_tag(name) {
                in_repository(digest, name, repository)?
            } else {
                name.parse()
                    .with_context(|| format!("the image {digest} has an invalid name"))?
            });
        }
        if found.is_empty() {
            found.push(in_repository(digest, "latest", repository)?);
        }
        for name in found {
            let taken = names.iter().any(|other| {
                (other.repository(), other.tag()) == (name.repository(), name.tag())
                    && other.digest() != Some(digest)
            });
            anyhow::ensure!(!taken, "the archive has two images with the name {name}");
            names.push(name.pinned(digest.clone()));
        }
    }
    anyhow::ensure!(!names.is_empty(), "the archive has no images");
    Ok(names)
}

/// Whether a name is that of OCI layouts, which is a tag without a repository.
fn is_only_tag(name: &str) -> bool {
    !name.contains(['/', ':', '@']) && is_tag(name)
}

fn in_repository(
    digest: &Digest,
    tag: &str,
    repository: Option<&Repository>,
) -> anyhow::Result<Reference> {
    let Some(repository) = repository else {
        let problem = Err(anyhow!(
            "the archive does not say which repository the image {tag} ({digest}) is of"
        ));
        return problem
            .hint("set it with --name REPOSITORY, such as --name docker.io/library/nginx");
    };
    Ok(repository.with_tag(tag)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(images: &[(&str, &[&str])], name: Option<&str>) -> Result<Vec<String>, String> {
        let image = |(content, names): &(&str, &[&str])| ArchivedImage {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            digest: Digest::of(content.as_bytes()),
        };
        let images: Vec<ArchivedImage> = images.iter().map(image).collect();
        let name = name.map(|name| name.parse::<Repository>().unwrap());
        let short = |name: &Reference| format!("{}:{}", name.repository(), name.tag().unwrap());
        match names(&images, name.as_ref()) {
            Ok(names) => Ok(names.iter().map(short).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn an_image_with_only_a_tag_gets_the_name_of_the_command_line() {
        let named = [("a", &["quay.io/a/b:1", "web:2"][..])];
        let expected = ["quay.io/a/b:1", "docker.io/library/web:2"].map(str::to_owned);
        assert_eq!(loaded(&named, None).unwrap(), expected);
        assert_eq!(loaded(&named, Some("x/y")).unwrap(), expected);
        // `nginx` would be the image docker.io/library/nginx:latest, and `1.25` docker.io/library/1.25:latest.
        for only_tag in [&["1.25"][..], &["latest"], &[]] {
            let tag = only_tag.first().unwrap_or(&"latest");
            let images = [("a", only_tag)];
            let error = loaded(&images, None).unwrap_err();
            assert!(error.contains("which repository"), "{error}");
            let names = loaded(&images, Some("quay.io/x/y")).unwrap();
            assert_eq!(names, [format!("quay.io/x/y:{tag}")]);
        }
    }

    #[test]
    fn two_images_never_get_one_name() {
        let images = [("a", &[][..]), ("b", &[][..])];
        let error = loaded(&images, Some("x/y")).unwrap_err();
        assert!(error.contains("two images"), "{error}");
        let images = [("a", &["web:1"][..]), ("b", &["web:1"][..])];
        assert!(loaded(&images, None).is_err());
        assert!(loaded(&[], None).is_err());
    }
}
