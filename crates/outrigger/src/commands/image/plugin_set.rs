//! The charts and images of a set of plugins: of those in files, and of those that their charts create.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Context as _;
use outrigger_api::compat;
use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_chart::images::{self, ImageUse};
use outrigger_chart::{Chart, Manifest, Profile, RenderOptions, Rendered, ValuesOptions, render};
use outrigger_oci::Repository;
use outrigger_repository::{ChartMirrors, Fetcher, Request};
use serde_json::Value;

use super::summary::FailedPlugin;
use crate::commands::chart::host::LocalHost;
use crate::commands::chart::source::{helm_error, warn};
use crate::commands::chart::{TEMPLATE_STACK, on_large_stack};
use crate::commands::registry_flags::fetch_error;
use crate::report::note;

/// What plugins need.
#[derive(Debug, Default)]
pub(super) struct PluginSet {
    /// Images, each with the plugin that uses it
    pub(super) images: Vec<(ImageUse, String)>,
    pub(super) charts: Vec<PluginChart>,
    /// Plugins whose charts or images are not known
    pub(super) failed: Vec<FailedPlugin>,
}

/// A chart of a plugin, from where the plugin expects it.
#[derive(Debug)]
pub(super) struct PluginChart {
    pub(super) request: Request,
    pub(super) archive: Vec<u8>,
}

/// The folder of a registry for the charts of plugins.
const CHARTS: &str = "charts";

/// Plugins that create plugins, which create plugins…
const MAX_PLUGINS: usize = 10_000;

impl PluginSet {
    /// Fetches and renders the charts of plugins, with their values but without those of Secrets and config maps.
    pub(super) async fn collect(plugins: Vec<Plugin>, fetcher: &Fetcher) -> anyhow::Result<Self> {
        let mut set = Self::default();
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        let mut queue = VecDeque::from(plugins);
        while let Some(plugin) = queue.pop_front() {
            let spec = serde_json::to_value(&plugin.spec)?;
            let name = format!("{}/{}", plugin.namespace(), plugin.name());
            if known.get(&name) == Some(&spec) {
                continue;
            }
            known.insert(name.clone(), spec);
            anyhow::ensure!(
                known.len() <= MAX_PLUGINS,
                "more than {MAX_PLUGINS} plugins"
            );
            if !plugin.spec.enabled {
                continue;
            }
            match set.add(&plugin, &name, fetcher).await {
                Ok(children) => queue.extend(children),
                Err(error) => set.failed.push(FailedPlugin {
                    plugin: name,
                    reason: format!("{error:#}"),
                }),
            }
        }
        Ok(set)
    }

    /// Adds the chart and the images of a plugin. Returns the plugins that it creates.
    async fn add(
        &mut self,
        plugin: &Plugin,
        name: &str,
        fetcher: &Fetcher,
    ) -> anyhow::Result<Vec<Plugin>> {
        let rendered = match plugin.spec.kind {
            PluginKind::Manifests => manifests(plugin, fetcher).await?,
            PluginKind::Kustomize => anyhow::bail!("kustomizations are not supported"),
            PluginKind::Helm | PluginKind::Template => {
                if !plugin.spec.values_from.is_empty() {
                    note(&format!(
                        "{name}: values of Secrets and ConfigMaps are not used, so images that depend on them are not found"
                    ));
                }
                let request = request(plugin)?;
                let fetched = fetcher.fetch(&request).await.map_err(fetch_error)?;
                // Local charts are not mirrored.
                if request.repo.contains("://") && !request.repo.starts_with("file://") {
                    let archive = fetcher.archive(&request).await.map_err(fetch_error)?.bytes;
                    self.charts.push(PluginChart { request, archive });
                }
                on_large_stack(|| render_chart(plugin, &fetched.chart))?
            }
        };
        let found = images::find(&rendered);
        self.images
            .extend(found.into_iter().map(|image| (image, name.to_owned())));
        children(&rendered, plugin)
    }
}

impl PluginChart {
    /// Where the chart is in a registry, with a path, for all charts: below `charts`, where
    /// `--chart-mirror '*=oci://REGISTRY/charts'` finds it.
    pub(super) fn repository(&self, registry: &str) -> anyhow::Result<Repository> {
        let registry = registry.trim_end_matches('/');
        let mut mirrors = ChartMirrors::default();
        mirrors.add(&format!("*=oci://{registry}/{CHARTS}"))?;
        let repository = mirrors.repository(&self.request);
        repository.with_context(|| format!("{} cannot be mirrored", self.request.repo))
    }
}

fn request(plugin: &Plugin) -> anyhow::Result<Request> {
    let set = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
    Ok(Request {
        repo: set(&plugin.spec.repo).context("spec.repo is not set")?,
        chart: plugin.chart_name().to_owned(),
        version: set(&plugin.spec.version),
        path: set(&plugin.spec.path),
        ..Request::default()
    })
}

fn render_chart(plugin: &Plugin, chart: &Chart) -> anyhow::Result<Rendered> {
    let values = ValuesOptions {
        files: vec![(
            "spec.values".to_owned(),
            serde_json::to_vec(&plugin.spec.values)?,
        )],
        ..ValuesOptions::default()
    };
    let profile = Profile::Helm4;
    let read = &mut |_: &str| Ok(Vec::new());
    let values = values.merge(profile, read).map_err(helm_error)?;
    let mut options =
        RenderOptions::new(profile, plugin.release_name(), plugin.release_namespace());
    options.limits.stack_bytes = TEMPLATE_STACK;
    render(chart, &values, &options, &LocalHost::new(false), &mut warn).map_err(helm_error)
}

async fn manifests(plugin: &Plugin, fetcher: &Fetcher) -> anyhow::Result<Rendered> {
    let mut contents: Vec<(String, Vec<u8>)> = Vec::new();
    if plugin.spec.repo.is_some() {
        let fetched = fetcher.fetch_manifests(&request(plugin)?).await;
        for file in fetched.map_err(fetch_error)?.files {
            contents.push((file.name, file.data.to_vec()));
        }
    }
    for object in &plugin.spec.resources {
        contents.push(("spec.resources".to_owned(), serde_json::to_vec(object)?));
    }
    let mut rendered = Rendered::default();
    for (path, text) in contents {
        for document in outrigger_goyaml::documents(&text) {
            let document = document.map_err(|error| anyhow::anyhow!("{path}: {}", error.rest))?;
            rendered.manifests.push(Manifest {
                path: path.clone(),
                content: String::from_utf8_lossy(&document).into_owned(),
                api_version: String::new(),
                kind: String::new(),
                name: String::new(),
            });
        }
    }
    Ok(rendered)
}

/// The plugins among rendered objects.
fn children(rendered: &Rendered, parent: &Plugin) -> anyhow::Result<Vec<Plugin>> {
    let mut children = Vec::new();
    for manifest in &rendered.manifests {
        let object = outrigger_goyaml::parse_json(manifest.content.as_bytes())
            .with_context(|| manifest.path.clone())?;
        if object.is_null() {
            continue;
        }
        if let Some(mut child) = compat::read(object).with_context(|| manifest.path.clone())? {
            let namespace = parent.release_namespace().to_owned();
            child.metadata.namespace.get_or_insert(namespace);
            children.push(child);
        }
    }
    Ok(children)
}
