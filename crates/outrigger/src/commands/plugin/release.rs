//! The release of a plugin: where it is, and the cluster that has it.

use anyhow::{Context as _, anyhow, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;
use outrigger_release::{Cluster, ReleaseId};

use super::connect::Connection;
use crate::report::HintExt as _;

pub(super) fn id(plugin: &Plugin) -> ReleaseId {
    ReleaseId::new(plugin.release_namespace(), plugin.release_name())
}

/// The cluster that the plugin is installed into, which may be another one.
pub(super) async fn cluster(connection: &Connection, plugin: &Plugin) -> anyhow::Result<Cluster> {
    let Some(reference) = &plugin.spec.cluster else {
        return Ok(Cluster::new(connection.client.clone()));
    };
    let secrets: Api<Secret> = Api::namespaced(connection.client.clone(), plugin.namespace());
    let name = &reference.secret_name;
    let secret = secrets
        .get_opt(name)
        .await
        .context("failed to read the kubeconfig of its cluster")?;
    let data = secret.and_then(|secret| secret.data).unwrap_or_default();
    let key = plugin.kubeconfig_key();
    let bytes = data
        .get(key)
        .ok_or_else(|| anyhow!("Secret {name} has no {key}"));
    let bytes = bytes.hint("it must hold the kubeconfig of the plugin's cluster")?;
    // The parser's own words could quote what is secret.
    let kubeconfig = std::str::from_utf8(&bytes.0)
        .ok()
        .and_then(|text| Kubeconfig::from_yaml(text).ok());
    let kubeconfig =
        kubeconfig.ok_or_else(|| anyhow!("the kubeconfig in Secret {name} cannot be read"))?;
    let runs = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|user| user.auth_info.as_ref());
    let runs = runs
        .filter(|user| user.exec.is_some() || user.auth_provider.is_some())
        .count();
    ensure!(
        runs == 0,
        "the kubeconfig in Secret {name} would run a program"
    );
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let config =
        config.with_context(|| format!("the kubeconfig in Secret {name} cannot be used"))?;
    Ok(Cluster::new(Client::try_from(config)?))
}
