//! The secrets of a cluster that are known: credentials of its machines, and the kubeconfig of its administrator.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{InlineCredentials, Machine};

use super::redact::Redactor;
use crate::commands::plugin::connect::Connection;

/// Adds them. What cannot be read is not known; what looks like a secret is removed nevertheless.
pub(super) async fn add(
    redactor: &mut Redactor,
    connection: &Connection,
    cluster: &Cluster,
    machines: &[Machine],
) {
    for machine in machines {
        let login = outrigger_controller::machine_login(&connection.client, machine).await;
        let Ok(login) = login else { continue };
        add_credentials(redactor, login.access.credentials());
        if let Some(proxy) = &login.access.proxy {
            add_credentials(redactor, proxy.credentials());
        }
    }
    let Some(reference) = cluster.kubeconfig_secret_ref() else {
        return;
    };
    let api: Api<Secret> = Api::namespaced(connection.client.clone(), &reference.namespace);
    let Ok(secret) = api.get(&reference.name).await else {
        return;
    };
    for kubeconfig in secret.data.unwrap_or_default().values() {
        let text = String::from_utf8_lossy(&kubeconfig.0);
        let keys = text.lines().filter_map(|line| line.trim().split_once(": "));
        for (_, value) in keys.filter(|(key, _)| ["client-key-data", "token"].contains(key)) {
            redactor.add(value.trim_matches('"').as_bytes());
        }
    }
}

fn add_credentials(redactor: &mut Redactor, credentials: InlineCredentials<'_>) {
    let InlineCredentials {
        password,
        private_key,
        passphrase,
    } = credentials;
    for secret in [password, private_key, passphrase].into_iter().flatten() {
        redactor.add(secret.expose());
    }
}
