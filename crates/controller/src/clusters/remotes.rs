//! Connections to machines: one for each, as long as its login does not change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use outrigger_api::RedactedBytes;
use outrigger_api::machine::{Machine, MachineAccess};
use outrigger_api::repository::SecretReference;
use outrigger_cluster::{Connect, Login, Remote};

#[derive(Debug, Default)]
pub(crate) struct Remotes {
    /// By the name of the machine.
    open: Mutex<HashMap<String, OpenRemote>>,
}

type OpenRemote = (Login, Arc<dyn Remote>);

impl Remotes {
    /// The connection to a machine. Reads its Secret, and connects again if the login changed.
    pub(crate) async fn get(
        &self,
        client: &Client,
        connect: &dyn Connect,
        machine: &Machine,
    ) -> Result<Arc<dyn Remote>, String> {
        let login = login(client, machine).await?;
        let name = machine.metadata.name.clone().unwrap_or_default();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, remote)) = open.get(&name)
            && is_same(known, &login)
        {
            return Ok(Arc::clone(remote));
        }
        let remote = connect.connect(&login);
        let remote = remote.map_err(|error| error.to_string())?;
        open.insert(name, (login, Arc::clone(&remote)));
        Ok(remote)
    }
}

/// A host key that was recorded since is the one of this connection.
fn is_same(known: &Login, login: &Login) -> bool {
    known.access == login.access && (known.host_key.is_none() || known.host_key == login.host_key)
}

/// How to log in to a machine: its spec, the credentials in its Secret, and the host key that was recorded.
pub async fn login(client: &Client, machine: &Machine) -> Result<Login, String> {
    let mut access = machine.spec.access.clone();
    if let Some(reference) = access.secret_ref.take() {
        let data = read(client, &reference).await?;
        access.password = data.get("password").cloned();
        access.private_key = data.get("privateKey").cloned();
        access.passphrase = data.get("passPhrase").cloned();
        if access.password.is_none() && access.private_key.is_none() {
            let SecretReference { name, namespace } = reference;
            return Err(format!(
                "Secret {namespace}/{name} has neither password nor privateKey"
            ));
        }
    }
    resolve_proxy(client, &mut access).await?;
    let recorded = machine
        .status
        .as_ref()
        .and_then(|status| status.host_key.clone());
    let host_key = access.host_key.clone().or(recorded);
    Ok(Login { access, host_key })
}

async fn resolve_proxy(client: &Client, access: &mut MachineAccess) -> Result<(), String> {
    let Some(proxy) = &mut access.proxy else {
        return Ok(());
    };
    if let Some(reference) = proxy.secret_ref.take() {
        let data = read(client, &reference).await?;
        proxy.password = data.get("password").cloned();
        proxy.private_key = data.get("privateKey").cloned();
        proxy.passphrase = data.get("passPhrase").cloned();
    }
    Ok(())
}

async fn read(
    client: &Client,
    reference: &SecretReference,
) -> Result<HashMap<String, RedactedBytes>, String> {
    let SecretReference { name, namespace } = reference;
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = api.get_opt(name).await;
    let secret = secret.map_err(|error| {
        let error = crate::error::error_chain(&error);
        format!("failed to read Secret {namespace}/{name}: {error}")
    })?;
    let secret = secret.ok_or_else(|| format!("Secret {namespace}/{name} does not exist"))?;
    let data = secret.data.unwrap_or_default().into_iter();
    Ok(data
        .map(|(key, ByteString(value))| (key, RedactedBytes::new(value)))
        .collect())
}
