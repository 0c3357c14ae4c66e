//! `outrigger plugin install`: a plugin from flags, or plugins from files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use kube::api::{Patch, PatchParams, ValidationDirective};
use outrigger_api::plugin::{Dependency, Plugin, PluginKind, PluginSpec};

use super::change::{ChangeFlags, ensure_good};
use super::connect::{ClusterFlags, Connection, explain};
use super::edit::{MANAGER, parameters};
use super::verdict::Goal;
use super::{file, repo_path, values};
use crate::commands::chart::values::ValuesFlags;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin install web --repo https://charts.example.com --version ^1.2 --wait
  outrigger plugin install web ./charts/web -f site.yaml --set replicas=3
  outrigger plugin install -F examples/plugins --wait
  outrigger plugin install -F plugin.yaml --dry-run -o yaml

Files may hold plugins of KubeGems, its Bundles, and Apps of TKEStack too.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to call it
    #[arg(required_unless_present = "plugin_files")]
    name: Option<String>,
    /// The chart: its name in the repository if that is another one, or a folder, an archive, or a URL
    chart: Option<String>,
    /// Plugins in files or folders instead of flags, `-` for stdin; those that exist are changed
    #[arg(
        short = 'F',
        long = "file",
        value_name = "FILE",
        conflicts_with_all = [
            "name", "chart", "repo", "version", "path", "kind", "depends_on", "install_namespace", "image_registry",
            "files", "set", "set_string", "set_json", "set_file", "set_literal",
        ]
    )]
    plugin_files: Vec<PathBuf>,
    /// Where the chart is: https://, file://, a folder, or the name of a Repository
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// An exact version or a range; the newest if not given
    #[arg(long, value_name = "RANGE")]
    version: Option<String>,
    /// A folder inside the source
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    /// How it is made into objects: helm, template or manifests
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<PluginKind>,
    /// The namespace of what it adds; its own if not given
    #[arg(long, value_name = "NAME")]
    install_namespace: Option<String>,
    /// A plugin that must be ready first, with versions if it matters: `storage` or `storage@^1`; may be repeated
    #[arg(long, value_name = "PLUGIN", value_parser = parse_dependency)]
    depends_on: Vec<Dependency>,
    /// The registry that all images are taken from
    #[arg(long, value_name = "HOST")]
    image_registry: Option<String>,
    #[command(flatten)]
    values: ValuesFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

fn parse_kind(text: &str) -> Result<PluginKind, String> {
    serde_json::from_value(text.into()).map_err(|_| "use helm, template or manifests".to_owned())
}

/// `[NAMESPACE/]NAME[@RANGE]`
fn parse_dependency(text: &str) -> Result<Dependency, String> {
    let (place, version) = match text.split_once('@') {
        Some((place, version)) => (place, Some(version.to_owned())),
        None => (text, None),
    };
    let (namespace, name) = match place.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, place),
    };
    if name.is_empty() {
        return Err("write it like storage, storage@^1 or tools/storage".to_owned());
    }
    Ok(Dependency {
        name: name.to_owned(),
        namespace,
        version,
    })
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let folder = std::env::current_dir()?;
    let mut plugins = if args.plugin_files.is_empty() {
        vec![from_flags(args, &folder)?]
    } else {
        file::read(&args.plugin_files)?
    };
    for plugin in &mut plugins {
        let repo = plugin.spec.repo.as_deref();
        plugin.spec.repo = repo.map(|repo| repo_path::absolute(repo, &folder));
    }
    let connection = args.cluster.connect().await?;
    let is_new = args.plugin_files.is_empty();
    let installed = install(&connection, plugins, is_new, args.change.dry_run).await?;
    let change = &args.change;
    change
        .finish(&connection, &installed, "installed", Goal::Ready, printer)
        .await
}

fn from_flags(args: &Args, folder: &Path) -> anyhow::Result<Plugin> {
    let name = args.name.as_deref().context("a name is missing")?;
    let (chart, repo) = match (&args.chart, &args.repo) {
        (Some(chart), None) if is_source(chart) => (None, Some(chart.clone())),
        (Some(chart), Some(_)) if is_source(chart) => {
            return Err(anyhow!(
                "{chart} says where the chart is, and so does --repo"
            ))
            .hint("give one of them");
        }
        (chart, repo) => (chart.clone(), repo.clone()),
    };
    let spec = PluginSpec {
        enabled: true,
        kind: args.kind.unwrap_or_default(),
        repo: repo.map(|repo| repo_path::absolute(&repo, folder)),
        chart,
        version: args.version.clone(),
        path: args.path.clone(),
        install_namespace: args.install_namespace.clone(),
        dependencies: args.depends_on.clone(),
        values: values::from_flags(&args.values)?,
        image_registry: args.image_registry.clone(),
        ..PluginSpec::default()
    };
    Ok(Plugin::new(name, spec))
}

/// Whether a text says where a chart is, not what it is called.
fn is_source(chart: &str) -> bool {
    repo_path::is_path(chart) || chart.contains("://")
}

/// Makes them all, or none if one is not right.
pub(super) async fn install(
    connection: &Connection,
    mut plugins: Vec<Plugin>,
    is_new: bool,
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    for plugin in &mut plugins {
        let namespace = plugin
            .metadata
            .namespace
            .get_or_insert_with(|| connection.namespace.clone());
        tracing::debug!(
            "plugin {} goes to namespace {namespace}",
            plugin.metadata.name.as_deref().unwrap_or_default()
        );
        ensure_good(plugin)?;
    }
    let mut installed = Vec::new();
    for plugin in &plugins {
        installed.push(send(connection, plugin, is_new, dry_run).await?);
    }
    Ok(installed)
}

async fn send(
    connection: &Connection,
    plugin: &Plugin,
    is_new: bool,
    dry_run: bool,
) -> anyhow::Result<Plugin> {
    let api = connection.plugins_in(plugin.namespace());
    let name = plugin.name();
    let shown = format!("{}/{name}", plugin.namespace());
    let sent = if is_new {
        api.create(&parameters(dry_run), plugin).await
    } else {
        let parameters = PatchParams {
            dry_run,
            force: true,
            field_manager: Some(MANAGER.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
        };
        api.patch(name, &parameters, &Patch::Apply(plugin)).await
    };
    sent.map_err(|error| explain(error, Some(&shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_may_have_a_namespace_and_a_range() {
        let full = parse_dependency("tools/storage@>=1, <2").unwrap();
        assert_eq!(full.namespace.as_deref(), Some("tools"));
        assert_eq!(full.name, "storage");
        assert_eq!(full.version.as_deref(), Some(">=1, <2"));
        assert_eq!(parse_dependency("storage").unwrap().version, None);
        assert!(parse_dependency("@^1").is_err() && parse_dependency("tools/").is_err());
    }

    #[test]
    fn a_chart_is_a_name_or_a_place() {
        assert!(is_source("./web") && is_source("/srv/web.tgz") && is_source("https://x/web.tgz"));
        assert!(!is_source("web"));
    }
}
