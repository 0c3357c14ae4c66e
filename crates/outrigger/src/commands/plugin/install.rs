//! `outrigger plugin install`: creates a plugin from flags, or applies plugins from files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{Patch, PatchParams, ValidationDirective};
use outrigger_api::plugin::{
    ClusterReference, Conflicts, Dependency, Plugin, PluginKind, PluginSpec,
};

use super::change::{ChangeFlags, Outcome, ensure_valid};
use super::connect::{Connection, explain};
use super::edit::{FIELD_MANAGER, parameters};
use super::spec_flags::parse_conflicts;
use super::wait_condition::WaitCondition;
use super::{file, repo_path, values};
use crate::commands::chart::values::ValuesFlags;
use crate::commands::oci_chart::OciChart;
use crate::commands::registry_name::parse_prefix;
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError};

const EXAMPLES: &str = "\
Examples:
  outrigger plugin install web --repo https://charts.example.com --version ^1.2 --wait
  outrigger plugin install web ./charts/web -f site.yaml --set replicas=3
  outrigger plugin install -F examples/plugins --wait
  outrigger plugin install -F plugin.yaml --dry-run -o yaml

Files may also contain Plugins and Bundles of KubeGems and Apps of TKEStack.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    #[arg(required_unless_present = "plugin_files")]
    name: Option<String>,
    /// Chart: its name in the repository [default: NAME], or a directory, an archive or a URL
    chart: Option<String>,
    /// Apply plugins from files or directories, `-` for stdin
    #[arg(
        short = 'F',
        long = "file",
        value_name = "FILE",
        conflicts_with_all = [
            "name", "chart", "repo", "version", "path", "kind", "depends_on", "install_namespace", "target", "image_registry", "conflicts",
            "rollback_on_failure",
            "files", "set", "set_string", "set_json", "set_file", "set_literal",
        ]
    )]
    plugin_files: Vec<PathBuf>,
    /// Source of the chart: an https:// or file:// URL, a directory, or the name of a Repository
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// Chart version or version range [default: the latest]
    #[arg(long, value_name = "RANGE")]
    version: Option<String>,
    /// Directory inside the source
    #[arg(long, value_name = "DIR")]
    path: Option<String>,
    /// Kind of the plugin: helm, template or manifests
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<PluginKind>,
    /// Namespace to install into [default: the namespace of the plugin]
    #[arg(long, value_name = "NAME")]
    install_namespace: Option<String>,
    /// Cluster to install in, which must allow the namespace of the plugin [default: the cluster of the controller]
    #[arg(long = "cluster", value_name = "NAME")]
    target: Option<String>,
    /// Create the namespaces of the plugins if they do not exist; those of their releases are always created
    #[arg(long)]
    create_namespace: bool,
    /// If an upgrade fails, return to the previous revision; if the installation fails, uninstall
    #[arg(long, alias = "atomic")]
    rollback_on_failure: bool,
    /// Dependency, with an optional version range: `storage` or `storage@^1`; may be repeated
    #[arg(long, value_name = "PLUGIN", value_parser = parse_dependency)]
    depends_on: Vec<Dependency>,
    /// What to do about fields that another field manager changed: take, keep or fail
    #[arg(long, value_name = "POLICY", value_parser = parse_conflicts)]
    conflicts: Option<Conflicts>,
    /// Registry to rewrite all images to
    #[arg(long, value_name = "HOST[/PATH]", value_parser = parse_prefix)]
    image_registry: Option<String>,
    #[command(flatten)]
    values: ValuesFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

/// Why the value of a flag is rejected.
#[derive(Debug, thiserror::Error)]
enum FlagError {
    #[error("expected helm, template or manifests")]
    Kind,
    #[error("kustomize is not supported yet; use manifests with the output of `kustomize build`")]
    Kustomize,
    #[error("expected a dependency such as storage, storage@^1 or tools/storage")]
    Dependency,
}

fn parse_kind(text: &str) -> Result<PluginKind, FlagError> {
    match serde_json::from_value(text.into()) {
        Ok(PluginKind::Kustomize) => Err(FlagError::Kustomize),
        Ok(kind) => Ok(kind),
        Err(_) => Err(FlagError::Kind),
    }
}

/// Parses `[NAMESPACE/]NAME[@RANGE]`.
fn parse_dependency(text: &str) -> Result<Dependency, FlagError> {
    let (plugin, version) = match text.split_once('@') {
        Some((plugin, version)) => (plugin, Some(version.to_owned())),
        None => (text, None),
    };
    let (namespace, name) = match plugin.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, plugin),
    };
    if name.is_empty() {
        return Err(FlagError::Dependency);
    }
    Ok(Dependency {
        name: name.to_owned(),
        namespace,
        version,
    })
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let directory = std::env::current_dir()?;
    let mut plugins = if args.plugin_files.is_empty() {
        vec![from_flags(args, &directory)?]
    } else {
        file::read(&args.plugin_files)?
    };
    for plugin in &mut plugins {
        if let Some(repo) = &mut plugin.spec.repo {
            repo_path::ensure_exists(repo, &directory)?;
            *repo = repo_path::absolute(repo, &directory);
        }
    }
    let connection = args.change.cluster.connect().await?;
    let is_new = args.plugin_files.is_empty();
    if args.create_namespace && !args.change.dry_run {
        create_namespaces(&connection, &plugins).await?;
    }
    let installed = install(&connection, plugins, is_new, args.change.dry_run).await?;
    let change = &args.change;
    let requested = if is_new { "created" } else { "applied" };
    let outcome = Outcome::new("installed", WaitCondition::Ready).requested(requested);
    change
        .finish(&connection, &installed, outcome, printer)
        .await
}

fn from_flags(args: &Args, directory: &Path) -> anyhow::Result<Plugin> {
    let name = args.name.as_deref().context("the name is missing")?;
    if args.chart.is_none() && is_source(name) {
        let error = UsageError("the name of the plugin is missing".to_owned());
        return Err(error).hint(format!("outrigger plugin install NAME {name}"));
    }
    let source = args.chart.as_deref();
    let source = source.and_then(|chart| local_or_remote(chart, directory));
    let (chart, repo) = match (&args.chart, &args.repo) {
        (Some(_), None) if source.is_some() => (None, source),
        (Some(chart), Some(_)) if is_source(chart) => {
            let text = format!("both {chart} and --repo specify a source");
            return Err(UsageError(text)).hint("use only one of them");
        }
        (chart, repo) => (chart.clone(), repo.clone()),
    };
    let spec = PluginSpec {
        enabled: true,
        kind: args.kind.unwrap_or_default(),
        repo,
        chart,
        version: args.version.clone(),
        path: args.path.clone(),
        install_namespace: args.install_namespace.clone(),
        dependencies: args.depends_on.clone(),
        values: values::from_flags(&args.values)?,
        cluster: args.target.as_ref().map(|name| ClusterReference {
            name: Some(name.clone()),
            ..ClusterReference::default()
        }),
        image_registry: args.image_registry.clone(),
        conflicts: args.conflicts.unwrap_or_default(),
        rollback: args.rollback_on_failure,
        ..PluginSpec::default()
    };
    let mut plugin = Plugin::new(name, spec);
    if args.chart.is_some() && args.repo.is_none() {
        name_oci_chart(&mut plugin.spec, args.version.as_deref())?;
    }
    Ok(plugin)
}

/// Takes the name of the chart, and the version of its tag, from the URL of a chart in a registry. `version` is that of
/// `--version`.
pub(super) fn name_oci_chart(
    spec: &mut PluginSpec,
    version: Option<&str>,
) -> Result<(), UsageError> {
    let source = spec.repo.as_deref().unwrap_or_default();
    if let Some(chart) = OciChart::parse(source, version)? {
        spec.repo = Some(chart.url);
        spec.chart = Some(chart.name);
        spec.version = chart.version.or_else(|| spec.version.take());
    }
    Ok(())
}

/// The source that an argument names: a URL, a path, or a chart in the working directory. `None` if it is the name of a
/// chart.
pub(super) fn local_or_remote(chart: &str, directory: &Path) -> Option<String> {
    if is_source(chart) {
        return Some(chart.to_owned());
    }
    is_local_chart(&directory.join(chart)).then(|| format!("./{chart}"))
}

/// Whether the argument is a source, not the name of a chart.
fn is_source(chart: &str) -> bool {
    repo_path::is_path(chart) || chart.contains("://")
}

/// Whether there is a chart, as a directory or an archive. As in Helm, it takes precedence over one of a repository.
fn is_local_chart(path: &Path) -> bool {
    path.is_file() || path.join("Chart.yaml").is_file()
}

/// Creates the namespaces of plugins and of their releases that do not exist.
async fn create_namespaces(connection: &Connection, plugins: &[Plugin]) -> anyhow::Result<()> {
    let own = plugins.iter().map(|plugin| {
        let namespace = plugin.metadata.namespace.as_ref();
        namespace.unwrap_or(&connection.namespace)
    });
    let installed = plugins
        .iter()
        .filter(|plugin| plugin.spec.cluster.is_none());
    let installed = installed.filter_map(|plugin| plugin.spec.install_namespace.as_ref());
    let namespaces: BTreeSet<&String> = own.chain(installed).collect();
    let api: Api<Namespace> = Api::all(connection.client.clone());
    for name in namespaces {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.clone());
        match api.create(&parameters(false), &namespace).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => {
                let error = explain(&error, None);
                return Err(error.context(format!("failed to create namespace {name}")));
            }
        }
    }
    Ok(())
}

/// Creates or applies the plugins, or none of them if one is invalid.
pub(super) async fn install(
    connection: &Connection,
    mut plugins: Vec<Plugin>,
    is_new: bool,
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    for plugin in &mut plugins {
        let namespace = &mut plugin.metadata.namespace;
        namespace.get_or_insert_with(|| connection.namespace.clone());
        tracing::debug!("installing {}/{}", plugin.namespace(), plugin.name());
        ensure_valid(plugin)?;
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
    let qualified_name = format!("{}/{name}", plugin.namespace());
    let result = if is_new {
        api.create(&parameters(dry_run), plugin).await
    } else {
        let parameters = PatchParams {
            dry_run,
            force: true,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
        };
        api.patch(name, &parameters, &Patch::Apply(plugin)).await
    };
    result.map_err(|error| explain(&error, Some(&qualified_name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_dependency_with_namespace_and_range() {
        let full = parse_dependency("tools/storage@>=1, <2").unwrap();
        assert_eq!(full.namespace.as_deref(), Some("tools"));
        assert_eq!(full.name, "storage");
        assert_eq!(full.version.as_deref(), Some(">=1, <2"));
        assert_eq!(parse_dependency("storage").unwrap().version, None);
        assert!(parse_dependency("@^1").is_err() && parse_dependency("tools/").is_err());
    }

    fn spec(arguments: &[&str]) -> PluginSpec {
        let command = <Args as clap::Args>::augment_args(clap::Command::new("install"));
        let matches = command.get_matches_from([&["install"], arguments].concat());
        let args = <Args as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
        from_flags(&args, Path::new("/")).unwrap().spec
    }

    #[test]
    fn a_cluster_is_named_by_a_flag() {
        assert_eq!(spec(&["web"]).cluster, None);
        let cluster = spec(&["web", "--cluster", "site"]).cluster.unwrap();
        assert_eq!(cluster.name.as_deref(), Some("site"));
    }

    #[test]
    fn the_name_of_a_plugin_need_not_be_that_of_its_chart_in_a_registry() {
        let install = |arguments: &[&str]| {
            let spec = spec(arguments);
            (spec.repo.unwrap(), spec.chart.unwrap(), spec.version)
        };
        let url = "oci://r.local:5000/charts/web";
        let expected = |version: Option<&str>| {
            let version = version.map(str::to_owned);
            (url.to_owned(), "web".to_owned(), version)
        };
        assert_eq!(install(&["mine", url]), expected(None));
        let tagged = format!("{url}:1.2.3");
        assert_eq!(install(&["mine", &tagged]), expected(Some("1.2.3")));
        assert_eq!(
            install(&["mine", url, "--version", "^1"]),
            expected(Some("^1"))
        );
    }

    #[test]
    fn the_kind_kustomize_is_refused() {
        assert!(parse_kind("manifests").is_ok());
        let error = parse_kind("kustomize").unwrap_err().to_string();
        assert!(error.contains("not supported yet"), "{error}");
    }

    #[test]
    fn tells_a_source_from_the_name_of_a_chart() {
        assert!(is_source("./web") && is_source("/srv/web.tgz") && is_source("https://x/web.tgz"));
        assert!(!is_source("web"));
    }
}
