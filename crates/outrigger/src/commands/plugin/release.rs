//! The release of a plugin, and the cluster that it is installed in.

use anyhow::{Context as _, anyhow, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;
use outrigger_api::repository::SecretReference;
use outrigger_release::{Cluster, ReleaseId};

use super::connect::Connection;
use crate::commands::cluster::edit;
use crate::report::HintExt as _;

pub(super) fn id(plugin: &Plugin) -> ReleaseId {
    ReleaseId::new(plugin.release_namespace(), plugin.release_name())
}

/// Connects to the cluster that the plugin is installed in: the local one, a Cluster, or one that a Secret has the kubeconfig
/// of.
pub(super) async fn cluster(connection: &Connection, plugin: &Plugin) -> anyhow::Result<Cluster> {
    let Some(reference) = &plugin.spec.cluster else {
        return Ok(Cluster::new(connection.client.clone()));
    };
    let SecretReference { namespace, name } = match reference.secret() {
        Some(name) => SecretReference {
            namespace: plugin.namespace().to_owned(),
            name: name.to_owned(),
        },
        None => of_cluster(connection, reference.name.as_deref().unwrap_or_default()).await?,
    };
    let secrets: Api<Secret> = Api::namespaced(connection.client.clone(), &namespace);
    let secret = secrets
        .get_opt(&name)
        .await
        .with_context(|| format!("failed to read Secret {namespace}/{name}"))?;
    let data = secret.and_then(|secret| secret.data).unwrap_or_default();
    let key = plugin.kubeconfig_key();
    let bytes = data
        .get(key)
        .ok_or_else(|| anyhow!("Secret {name} has no key \"{key}\""));
    let bytes = bytes.hint("it must contain the kubeconfig of the plugin's cluster")?;
    // Without the source: the parser's message could quote a secret.
    let kubeconfig = std::str::from_utf8(&bytes.0)
        .ok()
        .and_then(|text| Kubeconfig::from_yaml(text).ok());
    let kubeconfig =
        kubeconfig.ok_or_else(|| anyhow!("the kubeconfig in Secret {name} is not valid"))?;
    let mut users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|user| user.auth_info.as_ref());
    ensure!(
        users.all(|user| user.exec.is_none() && user.auth_provider.is_none()),
        "the kubeconfig in Secret {name} must not use exec or auth-provider"
    );
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let config =
        config.with_context(|| format!("failed to load the kubeconfig in Secret {name}"))?;
    Ok(Cluster::new(Client::try_from(config)?))
}

/// The Secret with the kubeconfig of a Cluster.
async fn of_cluster(connection: &Connection, name: &str) -> anyhow::Result<SecretReference> {
    let cluster = edit::get(connection, name).await?;
    let secret = cluster.kubeconfig_secret_ref().cloned();
    secret.with_context(|| format!("cluster {name} has no kubeconfig"))
}
