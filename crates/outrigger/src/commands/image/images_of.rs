//! Which images a command is about: those of charts, of plugins, of list files, of a lock, and those that are named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use outrigger_chart::images::{self, Confidence, ImageUse};
use outrigger_chart::{Chart, RenderOptions, from_archive, render};
use outrigger_gotmpl::value::Map;
use outrigger_oci::{Lock, Reference};
use outrigger_repository::{Fetcher, Options};

use super::plugin_set::{PluginChart, PluginSet};
use super::summary::FailedPlugin;
use crate::commands::chart::host::LocalHost;
use crate::commands::chart::remote;
use crate::commands::chart::render_flags::RenderFlags;
use crate::commands::chart::source::{self, helm_error};
use crate::commands::chart::{TEMPLATE_STACK, on_large_stack};
use crate::commands::mirror_flags::ChartMirrorFlag;
use crate::commands::plugin::file;
use crate::commands::registry_flags::RegistryFlags;
use crate::commands::runtime;
use crate::input_file;
use crate::plural::counted;
use crate::report::{UsageError, note};

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesOf {
    /// Images
    #[arg(value_name = "IMAGE")]
    images: Vec<String>,
    /// Chart folder or archive, or oci:// or https:// URL of a chart, whose images are used; repeatable
    #[arg(long = "chart", value_name = "CHART")]
    charts: Vec<PathBuf>,
    /// File or folder with plugins whose images are used, also those of plugins that their charts create; repeatable
    #[arg(long = "plugins", value_name = "FILE|DIR")]
    plugins: Vec<PathBuf>,
    /// File with one image per line, or - for stdin; # begins a comment; repeatable
    #[arg(long = "list", value_name = "FILE")]
    lists: Vec<PathBuf>,
    /// Lock file whose images are used, at their digests
    #[arg(long, value_name = "FILE")]
    pub(super) from_lock: Option<PathBuf>,
    /// Least confidence of images that are found: certain (containers), likely (fields, arguments) or possible (texts); `image list`
    /// shows all by default, other commands use those that are at least likely
    #[arg(long, value_name = "LEVEL", value_enum)]
    confidence: Option<Level>,
    #[command(flatten)]
    mirrors: ChartMirrorFlag,
    #[command(flatten)]
    render: RenderFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Level {
    Certain,
    Likely,
    Possible,
}

impl From<Level> for Confidence {
    fn from(level: Level) -> Self {
        match level {
            Level::Certain => Self::Certain,
            Level::Likely => Self::Likely,
            Level::Possible => Self::Possible,
        }
    }
}

/// An image, and how it was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) reference: Reference,
    pub(crate) confidence: Confidence,
    /// Who uses it, in words
    pub(crate) used_by: String,
}

/// What was found: images, and the charts of plugins.
#[derive(Debug, Default)]
pub(crate) struct FoundSet {
    by_name: BTreeMap<String, Found>,
    pub(super) charts: Vec<PluginChart>,
    /// Plugins whose charts or images are not known
    pub(super) failed: Vec<FailedPlugin>,
}

impl ImagesOf {
    /// The images, and the charts of plugins. Credentials of the command line are for `server`; `default` is the least
    /// confidence unless the user sets one.
    pub(crate) fn find(
        &self,
        registries: &RegistryFlags,
        server: Option<&str>,
        default: Confidence,
    ) -> anyhow::Result<FoundSet> {
        let has_sources = !(self.images.is_empty()
            && self.charts.is_empty()
            && self.plugins.is_empty()
            && self.lists.is_empty()
            && self.from_lock.is_none());
        if !has_sources {
            let error = "no images: name some, or use --chart, --plugins, --list or --from-lock";
            return Err(UsageError(error.to_owned()).into());
        }
        let mut found = FoundSet::default();
        for image in &self.images {
            found
                .add(image, Confidence::Certain, "the command line")
                .map_err(|error| UsageError(format!("{error:#}")))?;
        }
        if !self.charts.is_empty() {
            self.add_charts(registries, server, &mut found)?;
        }
        for list in &self.lists {
            let is_stdin = list.as_os_str() == "-";
            let (name, text) = if is_stdin {
                ("stdin".to_owned(), input_file::read_stdin_text()?)
            } else {
                (list.display().to_string(), input_file::read_text(list)?)
            };
            found.add_list(&name, &text)?;
        }
        if let Some(path) = &self.from_lock {
            for image in read_lock(path)?.images() {
                found.add(
                    &image.to_string(),
                    Confidence::Certain,
                    &path.display().to_string(),
                )?;
            }
        }
        if !self.plugins.is_empty() {
            self.add_plugins(registries, server, &mut found)?;
        }
        found.keep(self.confidence.map_or(default, Confidence::from));
        Ok(found)
    }

    fn add_charts(
        &self,
        registries: &RegistryFlags,
        server: Option<&str>,
        found: &mut FoundSet,
    ) -> anyhow::Result<()> {
        // Before anything is downloaded.
        let values = self.render.values.merge(self.render.compat.profile())?;
        for path in &self.charts {
            let chart = self.chart(path, registries, server)?;
            let images = on_large_stack(|| images_of_chart(&chart, &values, &self.render));
            for image in images? {
                found.add_use(&image, &path.display().to_string())?;
            }
        }
        Ok(())
    }

    /// Loads a chart, or downloads it.
    fn chart(
        &self,
        path: &Path,
        registries: &RegistryFlags,
        server: Option<&str>,
    ) -> anyhow::Result<Chart> {
        let profile = self.render.compat.profile();
        let Some(url) = path.to_str().filter(|path| path.contains("://")) else {
            return source::load(path, profile);
        };
        let request = remote::request(url, None)?;
        let archive = remote::download(&request, &self.mirrors, registries, server)?;
        from_archive(&archive.bytes, profile, &mut source::warn).map_err(helm_error)
    }

    fn add_plugins(
        &self,
        registries: &RegistryFlags,
        server: Option<&str>,
        found: &mut FoundSet,
    ) -> anyhow::Result<()> {
        let plugins = file::read(&self.plugins)?;
        let options = Options {
            chart_mirrors: self.mirrors.mirrors()?,
            ..Options::for_user()
        };
        let fetcher = Fetcher::new(registries.chart_options(server, options)?);
        let set = runtime::run(PluginSet::collect(plugins, &fetcher))?;
        for (image, plugin) in &set.images {
            found.add_use(image, &format!("plugin {plugin}"))?;
        }
        found.charts = set.charts;
        found.failed = set.failed;
        Ok(())
    }
}

impl FoundSet {
    pub(crate) fn images(&self) -> impl Iterator<Item = &Found> {
        self.by_name.values()
    }

    /// The images, each once, sorted.
    pub(crate) fn references(&self) -> Vec<Reference> {
        self.images().map(|found| found.reference.clone()).collect()
    }

    /// Fails if the images of a plugin are not known.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let Some(FailedPlugin { plugin, reason }) = self.failed.first() else {
            return Ok(());
        };
        match self.failed.len() {
            1 => anyhow::bail!("the images of plugin {plugin} are not known: {reason}"),
            count => anyhow::bail!(
                "the images of {count} plugins are not known, the first: {plugin}: {reason}"
            ),
        }
    }

    /// Adds the images of a list. One without images is a mistake.
    fn add_list(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let lines = text.lines().enumerate().map(|(number, line)| {
            let line = line.split('#').next().unwrap_or_default();
            (number + 1, line.trim())
        });
        let mut is_empty = true;
        for (number, image) in lines.filter(|(_, image)| !image.is_empty()) {
            is_empty = false;
            self.add(image, Confidence::Certain, &format!("{name}:{number}"))?;
        }
        anyhow::ensure!(!is_empty, "{name} names no images");
        Ok(())
    }

    fn add_use(&mut self, image: &ImageUse, of: &str) -> anyhow::Result<()> {
        let confidence = image.origin.confidence();
        let used_by = format!("{}/{} of {of}", image.kind, image.name);
        // What only looks like an image need not be one.
        if confidence < Confidence::Certain && image.image.parse::<Reference>().is_err() {
            return Ok(());
        }
        self.add(&image.image, confidence, &used_by)
    }

    fn add(&mut self, image: &str, confidence: Confidence, used_by: &str) -> anyhow::Result<()> {
        let reference: Reference = image
            .parse()
            .with_context(|| format!("invalid image in {used_by}"))?;
        let found = self
            .by_name
            .entry(reference.to_string())
            .or_insert_with(|| Found {
                reference,
                confidence,
                used_by: used_by.to_owned(),
            });
        found.confidence = found.confidence.max(confidence);
        Ok(())
    }

    /// Leaves out images with less confidence, and says so.
    fn keep(&mut self, confidence: Confidence) {
        let before = self.by_name.len();
        self.by_name
            .retain(|_, found| found.confidence >= confidence);
        let left_out = before - self.by_name.len();
        if left_out > 0 {
            note(&format!(
                "{} left out that may be images; `image list` shows them, --confidence possible includes them",
                counted(left_out, "string")
            ));
        }
    }
}

pub(super) fn read_lock(path: &Path) -> anyhow::Result<Lock> {
    let bytes = input_file::read(path)?;
    Lock::parse(&bytes).with_context(|| format!("failed to read {}", path.display()))
}

/// All images that a chart uses, with where they were found.
fn images_of_chart(
    chart: &Chart,
    values: &Map,
    flags: &RenderFlags,
) -> anyhow::Result<Vec<ImageUse>> {
    let profile = flags.compat.profile();
    let mut options = RenderOptions::new(profile, chart.name(), &flags.namespace);
    options.limits.stack_bytes = TEMPLATE_STACK;
    let host = LocalHost::new(false);
    let rendered = render(chart, values, &options, &host, &mut source::warn).map_err(helm_error)?;
    Ok(images::find(&rendered))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_images_and_a_mistake_its_line() {
        let add = |text: &str| {
            let mut found = FoundSet::default();
            let added = found.add_list("images.txt", text);
            added.map(|()| found.references().len())
        };
        assert_eq!(add("# mine\n\nnginx:1 # web\nquay.io/a/b:2\n").unwrap(), 2);
        let error = add("nginx:1\n\nNot An Image\n").unwrap_err();
        assert_eq!(error.to_string(), "invalid image in images.txt:3");
        let error = add("# nothing\n").unwrap_err();
        assert_eq!(error.to_string(), "images.txt names no images");
    }
}
