//! Which cluster is meant, and a client for it.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;

use crate::report::HintExt as _;

/// The flags that say which cluster and namespace, as kubectl and Helm have them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    /// The kubeconfig; $KUBECONFIG or ~/.kube/config if not given
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; its current one if not given
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The namespace of the plugin; that of the context if not given
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
}

/// A cluster and the namespace in it that is meant.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl ClusterFlags {
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let config = self
            .config()
            .await
            .context("no cluster is known")
            .hint("say which with --kubeconfig FILE, or start one: outrigger up")?;
        let namespace = self.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).context("failed to make a client")?;
        Ok(Connection { client, namespace })
    }

    async fn config(&self) -> anyhow::Result<Config> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        match &self.kubeconfig {
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path).map_err(once)?;
                let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
                config.map_err(once)
            }
            None if self.context.is_some() => Config::from_kubeconfig(&options).await.map_err(once),
            None => Config::infer().await.map_err(once),
        }
    }
}

/// These errors tell their causes themselves.
fn once(error: impl std::error::Error) -> anyhow::Error {
    anyhow!("{error}")
}

impl Connection {
    /// The plugins of the namespace.
    pub(crate) fn plugins(&self) -> Api<Plugin> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The plugins of another namespace.
    pub(crate) fn plugins_in(&self, namespace: &str) -> Api<Plugin> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// All plugins of the cluster.
    pub(crate) async fn all(&self) -> anyhow::Result<Vec<Plugin>> {
        let all: Api<Plugin> = Api::all(self.client.clone());
        let list = all.list(&ListParams::default()).await;
        Ok(list.map_err(|error| explain(error, None))?.items)
    }

    pub(crate) async fn get(&self, name: &str) -> anyhow::Result<Plugin> {
        let plugin = self.plugins().get(name).await;
        plugin.map_err(|error| explain(error, Some(&format!("{}/{name}", self.namespace))))
    }
}

/// Says what an answer of the API means to somebody who asked for a plugin.
pub(crate) fn explain(error: kube::Error, plugin: Option<&str>) -> anyhow::Error {
    let kube::Error::Api(status) = &error else {
        return hinted(
            anyhow!(error).context("the cluster cannot be reached"),
            "is it running, and is this the right --kubeconfig and --context?",
        );
    };
    let names_plugin = plugin.is_some_and(|plugin| {
        let name = plugin.rsplit('/').next().unwrap_or(plugin);
        status.message.contains(&format!("\"{name}\""))
    });
    match (status.code, plugin) {
        (404, Some(plugin)) if names_plugin => hinted(
            anyhow!("there is no plugin {plugin}"),
            "outrigger plugin list -A shows all plugins",
        ),
        (404, _) => hinted(
            anyhow!("the cluster does not know plugins"),
            "outrigger serve --install-crds makes it know them",
        ),
        (403, _) => anyhow!("not allowed: {}", status.message),
        (409, Some(plugin)) if status.reason == "AlreadyExists" => hinted(
            anyhow!("there is a plugin {plugin} already"),
            "change it with: outrigger plugin set, upgrade or enable",
        ),
        (422, Some(plugin)) => anyhow!("plugin {plugin} is refused: {}", status.message),
        _ => anyhow!(status.message.clone()),
    }
}

fn hinted(error: anyhow::Error, hint: &str) -> anyhow::Error {
    Err::<(), _>(error).hint(hint).expect_err("it is an error")
}
