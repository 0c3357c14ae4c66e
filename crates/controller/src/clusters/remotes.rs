//! Connections to machines: one for each, as long as its login does not change.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use outrigger_api::RedactedBytes;
use outrigger_api::machine::{Machine, MachineAccess, MachineStatus};
use outrigger_api::repository::SecretReference;
use outrigger_cluster::{Connect, Login, Remote, Report};

#[derive(Debug, Default)]
pub(crate) struct Remotes {
    /// By the name of the machine.
    open: Mutex<HashMap<String, OpenRemote>>,
}

#[derive(Debug)]
struct OpenRemote {
    /// The last one that this connection was used for.
    login: Login,
    remote: Arc<dyn Remote>,
    /// Whether the keys that it presented were reported, to be recorded.
    reported: ReportedKeys,
}

#[derive(Debug, Clone, Copy, Default)]
struct ReportedKeys {
    host: bool,
    jump_host: bool,
}

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
        let known = open.get_mut(&name);
        if let Some(known) = known.filter(|known| known.is_for(&login)) {
            known.login = login;
            return Ok(Arc::clone(&known.remote));
        }
        let is_removed = open.get(&name).is_some_and(|known| known.has_lost(&login));
        let login = Login {
            is_key_removed: is_removed,
            ..login
        };
        let remote = connect.connect(&login);
        let remote = remote.map_err(|error| error.to_string())?;
        let opened = OpenRemote {
            login,
            remote: Arc::clone(&remote),
            reported: ReportedKeys::default(),
        };
        open.insert(name, opened);
        Ok(remote)
    }

    /// Leaves out the keys that this connection reported before: one that a user removes from the status is recorded anew
    /// by the next connection, and not restored by an open one.
    pub(crate) fn report_keys_once(
        &self,
        machine: &str,
        remote: &Arc<dyn Remote>,
        report: &mut Report,
    ) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.get_mut(machine);
        let Some(known) = known.filter(|known| Arc::ptr_eq(&known.remote, remote)) else {
            // Another login has replaced the connection, and reports its own keys.
            (report.host_key, report.proxy) = (None, None);
            return;
        };
        let before = known.reported;
        known.reported.host |= report.host_key.is_some();
        known.reported.jump_host |= report.proxy.is_some();
        report.host_key = report.host_key.take().filter(|_| !before.host);
        report.proxy = report.proxy.take().filter(|_| !before.jump_host);
    }
}

impl OpenRemote {
    /// Whether this connection is the one of a login. A key that was recorded since must be the one that it presented.
    fn is_for(&self, login: &Login) -> bool {
        let is_kept = |known: &Option<String>, now: &Option<String>, presented: Option<String>| {
            known == now || (known.is_none() && presented == *now)
        };
        let presented = (self.remote.host_key(), self.remote.jump_host_key());
        self.login.access == login.access
            && is_kept(&self.login.host_key, &login.host_key, presented.0)
            && is_kept(&self.login.jump_host_key, &login.jump_host_key, presented.1)
            && !self.has_lost(login)
    }

    /// Whether a key was recorded, and is not any more.
    fn has_lost(&self, login: &Login) -> bool {
        let host = self.reported.host || self.login.host_key.is_some();
        let jump_host = self.reported.jump_host || self.login.jump_host_key.is_some();
        self.login.access == login.access
            && ((host && login.host_key.is_none()) || (jump_host && login.jump_host_key.is_none()))
    }
}

/// How to log in to a machine: its spec, the credentials in its Secret, and the host key that was recorded.
pub async fn login(client: &Client, machine: &Machine) -> Result<Login, String> {
    let mut access = machine.spec.access.clone();
    if let Some(reference) = access.secret_ref.take() {
        let fields = [
            &mut access.password,
            &mut access.private_key,
            &mut access.passphrase,
        ];
        read(client, &reference, fields).await?;
    }
    if let Some(proxy) = &mut access.proxy
        && let Some(reference) = proxy.secret_ref.take()
    {
        let fields = [
            &mut proxy.password,
            &mut proxy.private_key,
            &mut proxy.passphrase,
        ];
        read(client, &reference, fields).await?;
    }
    let status = machine.status.as_ref();
    let recorded = status.and_then(|status| status.host_key.clone());
    let host_key = access.host_key.clone().or(recorded);
    let jump_host_key = status.and_then(|status| recorded_jump_host_key(&access, status));
    Ok(Login {
        access,
        host_key,
        jump_host_key,
        is_key_removed: false,
    })
}

/// The key that was recorded of this jump host, not of another one that was used before.
fn recorded_jump_host_key(access: &MachineAccess, status: &MachineStatus) -> Option<String> {
    let (jump, recorded) = access.proxy.as_ref().zip(status.proxy.as_ref())?;
    (jump.address() == recorded.address).then(|| recorded.host_key.clone())
}

/// The keys of credentials in a Secret.
const KEYS: [&str; 3] = ["password", "privateKey", "passPhrase"];

/// Reads the credentials in a Secret, in the order of [`KEYS`].
async fn read(
    client: &Client,
    reference: &SecretReference,
    fields: [&mut Option<RedactedBytes>; 3],
) -> Result<(), String> {
    let mut data = data(client, reference).await?;
    let [password, private_key, passphrase] = KEYS.map(|key| {
        let value = data.remove(key);
        value.map(|ByteString(value)| RedactedBytes::new(value))
    });
    if password.is_none() && private_key.is_none() {
        let SecretReference { name, namespace } = reference;
        return Err(format!(
            "Secret {namespace}/{name} has neither password nor privateKey"
        ));
    }
    for (field, value) in fields.into_iter().zip([password, private_key, passphrase]) {
        *field = value;
    }
    Ok(())
}

/// User name and password of a registry.
pub(super) async fn registry_credentials(
    client: &Client,
    reference: &SecretReference,
) -> Result<(String, RedactedBytes), String> {
    let mut data = data(client, reference).await?;
    let SecretReference { name, namespace } = reference;
    let missing = |key: &str| format!("Secret {namespace}/{name} has no {key}");
    let ByteString(username) = data.remove("username").ok_or_else(|| missing("username"))?;
    let ByteString(password) = data.remove("password").ok_or_else(|| missing("password"))?;
    let username = String::from_utf8(username);
    let username = username.map_err(|_| missing("username that is text"))?;
    Ok((username, RedactedBytes::new(password)))
}

async fn data(
    client: &Client,
    reference: &SecretReference,
) -> Result<BTreeMap<String, ByteString>, String> {
    let SecretReference { name, namespace } = reference;
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = api.get_opt(name).await;
    let secret = secret.map_err(|error| {
        let error = crate::error::error_chain(&error);
        format!("failed to read Secret {namespace}/{name}: {error}")
    })?;
    let secret = secret.ok_or_else(|| format!("Secret {namespace}/{name} does not exist"))?;
    Ok(secret.data.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use outrigger_api::machine::ProxyStatus;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_recorded_key_of_another_jump_host_is_not_required() {
        let access = json!({"ip": "10.0.0.9", "proxy": {"ip": "10.0.0.1"}});
        let access: MachineAccess = serde_json::from_value(access).unwrap();
        let recorded = |address: &str| MachineStatus {
            proxy: Some(ProxyStatus {
                address: address.to_owned(),
                host_key: "key".to_owned(),
            }),
            ..MachineStatus::default()
        };
        let required = |status| recorded_jump_host_key(&access, &status);
        assert_eq!(required(recorded("10.0.0.1:22")).as_deref(), Some("key"));
        assert_eq!(required(recorded("10.0.0.2:22")), None);
        assert_eq!(required(MachineStatus::default()), None);
    }
}
