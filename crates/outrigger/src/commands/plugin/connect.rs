//! Loads the kubeconfig, connects to the cluster and explains its errors.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
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
    let options = KubeConfigOptions {
        context: context.map(ToOwned::to_owned),
        ..KubeConfigOptions::default()
    };
    let read = match kubeconfig {
        Some(path) => read_kubeconfig(path),
        None => default_kubeconfig(),
    };
    let config = match read {
        Ok(kubeconfig) => Config::from_custom_kubeconfig(kubeconfig, &options).await,
        Err(error) => Err(error),
    };
    if config.is_err()
        && kubeconfig.is_none()
        && context.is_none()
        && let Ok(config) = Config::incluster()
    {
        return Ok(config);
    }
    let config = config
        .map_err(without_source)
        .context("failed to load the kubeconfig")
        .hint("specify one with --kubeconfig FILE, or start a local cluster: outrigger up")?;
    let server = config.cluster_url.to_string();
    unreachable::set_server(server.trim_end_matches('/').to_owned());
    Ok(config)
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

/// The files of `$KUBECONFIG`, merged, or `~/.kube/config`.
fn default_kubeconfig() -> Result<Kubeconfig, KubeconfigError> {
    let variable = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let mut paths: Vec<PathBuf> = std::env::split_paths(&variable)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if paths.is_empty() {
        let home = std::env::home_dir().ok_or(KubeconfigError::FindPath)?;
        paths.push(home.join(".kube/config"));
    }
    let mut merged = Kubeconfig::default();
    for path in paths {
        merged = merged.merge(read_kubeconfig(&path)?)?;
    }
    Ok(merged)
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
