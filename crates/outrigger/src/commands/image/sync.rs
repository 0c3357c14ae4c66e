//! `outrigger image sync`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use outrigger_chart::images::{Confidence, collision, relocate};
use outrigger_oci::{Client, Copy, Reference, Source};

use super::images_of::{ImagesOf, read_lock};
use super::plugin_set::PluginChart;
use super::summary::{PluginResults, PushFlags, TransferResult};
use crate::atomic_file;
use crate::commands::chart::push::push_archive;
use crate::commands::registry_name::host_of;
use crate::commands::runtime;
use crate::plural::counted;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger image sync --chart ./chart --to registry.local:5000 --lock images.lock
  outrigger image sync --plugins site.yaml --to registry.local:5000
  outrigger image sync --list images.txt --to registry.local:5000/mirror --plain-http registry.local:5000";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Pin images to the digests of this file if it exists, and write their digests to it
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    #[command(flatten)]
    push: PushFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let push = &args.push;
    let server = Some(host_of(&push.to));
    let client = push.registries.client(server)?;
    if let Some(path) = &args.lock {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        anyhow::ensure!(
            folder.is_none_or(Path::is_dir),
            "the folder of {} does not exist",
            path.display()
        );
    }
    let found = args
        .images
        .find(&push.registries, server, Confidence::Likely)?;
    let mut images = found.references();
    if let Some(path) = args.lock.as_ref().filter(|path| path.exists()) {
        let lock = read_lock(path)?;
        for image in &mut images {
            if let Some(digest) = lock.get(image) {
                *image = image.pinned(digest.clone());
            }
        }
    }
    runtime::run(async {
        let (charts, failed) = push_charts(&client, &found.charts, &push.to).await?;
        let source = Source::Registry(client.clone());
        let plugins = PluginResults {
            charts,
            failed_plugins: found.failed.clone(),
        };
        let (code, lock) = push.push(&source, &images, plugins, printer).await?;
        if let Some(path) = &args.lock {
            atomic_file::write(path, lock.to_text().as_ref())?;
            if !found.charts.is_empty() {
                note("the lock has no charts; an exact spec.version selects the same one again");
            }
        }
        anyhow::ensure!(
            failed == 0,
            "{} could not be pushed",
            counted(failed, "chart")
        );
        found.check()?;
        Ok(code)
    })
}

/// Pushes the charts of plugins to where a mirror of all repositories finds them.
async fn push_charts(
    client: &Client,
    charts: &[PluginChart],
    to: &str,
) -> anyhow::Result<(Vec<TransferResult>, usize)> {
    let mut results = Vec::new();
    let mut failed = 0;
    for chart in charts {
        let repository = chart.repository(to)?;
        let path = chart.request.path.as_deref();
        let pushed = push_archive(client, &repository, &chart.archive, path).await;
        let source = outrigger_repository::redacted(&chart.request.repo);
        let (target, result) = match &pushed {
            Ok(pushed) => (
                pushed.target.to_string(),
                Ok((pushed.digest.clone(), pushed.unchanged)),
            ),
            Err(error) => (repository.to_string(), Err(error.as_ref())),
        };
        failed += usize::from(pushed.is_err());
        results.push(TransferResult::new(source, target, result));
    }
    Ok((results, failed))
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
