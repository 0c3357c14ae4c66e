//! Loads the kubeconfig, connects to the cluster and explains its errors.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;

use super::unreachable;
use crate::commands::similar_name;
use crate::input_file;
use crate::report::HintExt as _;

/// The flags that select the cluster, as in kubectl and Helm.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ServerFlags {
    /// Kubeconfig [default: $KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// The flags that select the cluster and the namespace.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// Namespace of the plugin [default: the namespace of the context]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

/// A client and the selected namespace.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl ServerFlags {
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let config = load_config(self.kubeconfig.as_deref(), self.context.as_deref()).await?;
        let namespace = config.default_namespace.clone();
        let client = Client::try_from(config).context("failed to create a client")?;
        Ok(Connection { client, namespace })
    }
}

impl ClusterFlags {
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let mut connection = self.server.connect().await?;
        if let Some(namespace) = &self.namespace {
            connection.namespace.clone_from(namespace);
        }
        Ok(connection)
    }
}

/// Loads the configuration of a client: from the kubeconfig, or from the pod that the process runs in.
pub(crate) async fn load_config(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> anyhow::Result<Config> {
    let files = kubeconfig.map_or_else(default_files, |path| Ok(vec![path.to_owned()]))?;
    let config = load_from(&files, context).await;
    if config.is_err()
        && kubeconfig.is_none()
        && context.is_none()
        && let Ok(config) = Config::incluster()
    {
        return Ok(config);
    }
    let config = config?;
    let server = config.cluster_url.to_string();
    unreachable::set_server(server.trim_end_matches('/').to_owned());
    Ok(config)
}

/// The configuration of a context of files, merged.
async fn load_from(files: &[PathBuf], context: Option<&str>) -> anyhow::Result<Config> {
    let mut merged = Kubeconfig::default();
    for path in files {
        let config = read_valid(path).and_then(|config| Ok(merged.merge(config)?));
        merged = config
            .context("failed to load the kubeconfig")
            .hint("specify one with --kubeconfig FILE, or start a local cluster: outrigger up")?;
    }
    ensure_context(&merged, files, context)?;
    let options = KubeConfigOptions {
        context: context.map(ToOwned::to_owned),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(merged, &options)
        .await
        .map_err(without_source)
        .context("failed to load the kubeconfig")
}

/// Reads a kubeconfig, as opposed to any other file.
fn read_valid(path: &Path) -> anyhow::Result<Kubeconfig> {
    let not_kubeconfig = || anyhow!("{} is not a kubeconfig", path.display());
    let config = match read_kubeconfig(path) {
        Err(KubeconfigError::Parse(error)) => bail!("{}: {error}", not_kubeconfig()),
        read => read.map_err(without_source)?,
    };
    let is_empty = config.contexts.is_empty() && config.clusters.is_empty();
    match config.kind.as_deref() {
        None if is_empty => Err(not_kubeconfig()),
        Some(kind) if kind != "Config" => Err(anyhow!("{}, but a {kind}", not_kubeconfig())),
        _ => Ok(config),
    }
}

/// Fails if the selected context does not exist, and names those that do.
fn ensure_context(
    config: &Kubeconfig,
    files: &[PathBuf],
    context: Option<&str>,
) -> anyhow::Result<()> {
    let current = config.current_context.as_deref();
    let selected = context.or(current).unwrap_or_default();
    let names: Vec<&str> = config.contexts.iter().map(|known| &*known.name).collect();
    if names.contains(&selected) {
        return Ok(());
    }
    let file = std::env::join_paths(files).unwrap_or_default();
    let file = file.display();
    let known = match names.as_slice() {
        [] => "it has no contexts".to_owned(),
        names => format!("contexts: {}", names.join(", ")),
    };
    if selected.is_empty() {
        return Err(anyhow!("{file} has no current context; {known}"))
            .hint("select a context with --context NAME");
    }
    let current = if context.is_none() {
        "the current "
    } else {
        ""
    };
    Err(anyhow!(
        "{current}context \"{selected}\" does not exist in {file}; {known}"
    ))
}

/// Reads a kubeconfig within the limit of input files.
pub(crate) fn read_kubeconfig(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let failed = |error| KubeconfigError::ReadConfig(error, path.to_owned());
    match fs_err::metadata(path) {
        // Relative paths in a file are relative to its directory.
        Ok(metadata) if metadata.is_file() && metadata.len() <= input_file::MAX_BYTES => {
            Kubeconfig::read_from(path)
        }
        Ok(metadata) if !metadata.is_dir() => {
            let text = input_file::read_text(path).map_err(failed)?;
            Kubeconfig::from_yaml(&text)
        }
        _ => Kubeconfig::read_from(path),
    }
}

/// The files of `$KUBECONFIG`, or `~/.kube/config`.
fn default_files() -> anyhow::Result<Vec<PathBuf>> {
    let variable = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let mut paths: Vec<PathBuf> = std::env::split_paths(&variable)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if paths.is_empty() {
        let home = std::env::home_dir().context("failed to find the home directory")?;
        paths.push(home.join(".kube/config"));
    }
    Ok(paths)
}

/// The messages of these errors include those of their sources.
fn without_source(error: KubeconfigError) -> anyhow::Error {
    match error {
        // Its message has the path in quotes twice.
        KubeconfigError::ReadConfig(source, path) => {
            anyhow!("failed to read {}: {source}", path.display())
        }
        error => anyhow!("{error}"),
    }
}

impl Connection {
    /// Plugins of the selected namespace.
    pub(crate) fn plugins(&self) -> Api<Plugin> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn plugins_in(&self, namespace: &str) -> Api<Plugin> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Lists the plugins of all namespaces.
    pub(crate) async fn all(&self) -> anyhow::Result<Vec<Plugin>> {
        let all: Api<Plugin> = Api::all(self.client.clone());
        let list = all.list(&ListParams::default()).await;
        Ok(list.map_err(|error| explain(&error, None))?.items)
    }

    pub(crate) async fn get(&self, name: &str) -> anyhow::Result<Plugin> {
        let api = self.plugins();
        let qualified = format!("{}/{name}", self.namespace);
        match api.get(name).await {
            Ok(plugin) => Ok(plugin),
            Err(error) => {
                let explain =
                    |error: &kube::Error, _: Option<&str>| explain(error, Some(&qualified));
                Err(similar_name::suggest(&api, name, error, explain).await)
            }
        }
    }
}

/// Explains an error of a request for a plugin.
pub(crate) fn explain(error: &kube::Error, plugin: Option<&str>) -> anyhow::Error {
    let kube::Error::Api(status) = error else {
        return unreachable::explain(error);
    };
    let names_plugin = plugin.is_some_and(|plugin| {
        let name = plugin.rsplit('/').next().unwrap_or(plugin);
        status.message.contains(&format!("\"{name}\""))
    });
    match (status.code, plugin) {
        (404, Some(plugin)) if names_plugin => hinted(
            anyhow!("plugin {plugin} does not exist"),
            "outrigger plugin list -A lists all plugins",
        ),
        (404, _) if missing_namespace(&status.message).is_some() => {
            let namespace = missing_namespace(&status.message).unwrap_or_default();
            hinted(
                anyhow!("namespace {namespace} does not exist"),
                &format!(
                    "kubectl create namespace {namespace} creates it, and so does plugin install --create-namespace"
                ),
            )
        }
        (404, _) => hinted(
            anyhow!("the Plugin CRD (plugins.outrigger.dev) is not installed"),
            "outrigger serve --install-crds installs it",
        ),
        (401, _) => hinted(
            anyhow!("the cluster rejected the credentials of the kubeconfig"),
            "they may have expired; check --kubeconfig and --context",
        ),
        (403, _) if status.message.ends_with("because it is being terminated") => {
            anyhow!("the namespace is being deleted: {}", status.message)
        }
        (403, _) => anyhow!("access denied: {}", status.message),
        (409, Some(plugin)) if status.reason == "AlreadyExists" => hinted(
            anyhow!("plugin {plugin} already exists"),
            "use outrigger plugin set, upgrade or enable to change it",
        ),
        (422, Some(plugin)) => {
            anyhow!("{}", invalid("plugin", plugin, &status.message))
        }
        _ => anyhow!(status.message.clone()),
    }
}

/// Says why the API server rejects an object, without its own introduction `KIND.GROUP "NAME" is invalid: `.
pub(crate) fn invalid(kind: &str, name: &str, message: &str) -> String {
    let reason = message.split_once(" is invalid: ");
    let reason = reason.map_or(message, |(_, reason)| reason);
    format!("{kind} {name} is invalid: {reason}")
}

/// The namespace in the API server's message `namespaces "NAME" not found`.
fn missing_namespace(message: &str) -> Option<&str> {
    message
        .strip_prefix("namespaces \"")?
        .strip_suffix("\" not found")
}

fn hinted(error: anyhow::Error, hint: &str) -> anyhow::Error {
    Err::<(), _>(error)
        .hint(hint)
        .expect_err("a hint does not change the result")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "kind: Config
contexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: c}}]
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
";

    async fn error(text: &str, context: Option<&str>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        fs_err::write(&file, text).unwrap();
        let error = load_from(std::slice::from_ref(&file), context).await;
        let text = crate::report::text(&error.unwrap_err());
        text.replace(&file.display().to_string(), "FILE")
    }

    #[tokio::test]
    async fn a_context_that_does_not_exist_is_named_with_those_that_do() {
        assert_eq!(
            error(CONFIG, Some("nope")).await,
            "Error: context \"nope\" does not exist in FILE; contexts: a, b\n"
        );
        assert_eq!(
            error(&format!("{CONFIG}current-context: old\n"), None).await,
            "Error: the current context \"old\" does not exist in FILE; contexts: a, b\n"
        );
        assert_eq!(
            error(CONFIG, None).await,
            "Error: FILE has no current context; contexts: a, b\nhint: select a context with --context NAME\n"
        );
    }

    #[tokio::test]
    async fn a_file_that_is_not_a_kubeconfig_is_said_to_be_none() {
        let hint =
            "hint: specify one with --kubeconfig FILE, or start a local cluster: outrigger up\n";
        for (text, cause) in [
            (
                "kind: Plugin\nspec: {}\n",
                "FILE is not a kubeconfig, but a Plugin",
            ),
            ("a: b\n", "FILE is not a kubeconfig"),
        ] {
            let expected =
                format!("Error: failed to load the kubeconfig\n  caused by: {cause}\n{hint}");
            assert_eq!(error(text, None).await, expected);
        }
        let text = error("[", None).await;
        assert!(text.contains("FILE is not a kubeconfig: "), "{text}");
    }
}
