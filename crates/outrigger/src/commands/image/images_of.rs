//! Which images a command is about: those of charts, of list files, of a lock, and those that are named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use outrigger_chart::images::{self, ImageUse};
use outrigger_chart::{RenderOptions, render};
use outrigger_oci::{Lock, Reference};

use crate::commands::chart::host::LocalHost;
use crate::commands::chart::render_flags::RenderFlags;
use crate::commands::chart::source::{self, helm_error};
use crate::commands::chart::{TEMPLATE_STACK, on_large_stack};
use crate::input_file;

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesOf {
    /// Images
    #[arg(value_name = "IMAGE")]
    images: Vec<String>,
    /// Chart folder or archive whose images are used; repeatable
    #[arg(long = "chart", value_name = "CHART")]
    charts: Vec<PathBuf>,
    /// File with one image per line; # begins a comment; repeatable
    #[arg(long = "list", value_name = "FILE")]
    lists: Vec<PathBuf>,
    /// Lock file whose images are used, at their digests
    #[arg(long, value_name = "FILE")]
    from_lock: Option<PathBuf>,
    #[command(flatten)]
    render: RenderFlags,
}

impl ImagesOf {
    /// The images, each once, sorted.
    pub(crate) fn references(&self) -> anyhow::Result<Vec<Reference>> {
        let mut found = BTreeMap::new();
        for image in &self.images {
            add(&mut found, image, "the command line")?;
        }
        for chart in &self.charts {
            for image in on_large_stack(|| images_of_chart(chart, &self.render))? {
                add(
                    &mut found,
                    &image.image,
                    &format!("{}/{} of {}", image.kind, image.name, chart.display()),
                )?;
            }
        }
        for list in &self.lists {
            let text = input_file::read_text(list)?;
            for line in text.lines() {
                let line = line.split('#').next().unwrap_or_default().trim();
                if !line.is_empty() {
                    add(&mut found, line, &list.display().to_string())?;
                }
            }
        }
        if let Some(path) = &self.from_lock {
            found.extend(
                read_lock(path)?
                    .images()
                    .map(|image| (image.to_string(), image)),
            );
        }
        anyhow::ensure!(
            !found.is_empty(),
            "no images: name some, or use --chart, --list or --from-lock"
        );
        Ok(found.into_values().collect())
    }
}

fn add(found: &mut BTreeMap<String, Reference>, image: &str, origin: &str) -> anyhow::Result<()> {
    let image: Reference = image
        .parse()
        .with_context(|| format!("invalid image in {origin}"))?;
    found.insert(image.to_string(), image);
    Ok(())
}

pub(super) fn read_lock(path: &Path) -> anyhow::Result<Lock> {
    let bytes = input_file::read(path)?;
    Lock::parse(&bytes).with_context(|| format!("failed to read {}", path.display()))
}

/// All images that a chart uses, with where they were found.
pub(super) fn images_of_chart(path: &Path, flags: &RenderFlags) -> anyhow::Result<Vec<ImageUse>> {
    let profile = flags.compat.profile();
    let chart = source::load(path, profile)?;
    let values = flags.values.merge(profile)?;
    let mut options = RenderOptions::new(profile, chart.name(), &flags.namespace);
    options.limits.stack_bytes = TEMPLATE_STACK;
    let host = LocalHost::new(false);
    let rendered =
        render(&chart, &values, &options, &host, &mut source::warn).map_err(helm_error)?;
    Ok(images::find(&rendered))
}
