//! Callbacks of an SSH session: the check of the host key, and what is known about the server's software.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use russh::Names;
use russh::client;
use russh::keys::PublicKeyOrCertificate;

use crate::{HostKey, HostKeyPolicy};

/// Checks the host key by the policy, and remembers what the server presented.
#[derive(Debug)]
pub(crate) struct Handler {
    policy: HostKeyPolicy,
    server: ServerIdentity,
}

/// What the server presented during the key exchange.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerIdentity(Arc<Mutex<Presented>>);

#[derive(Debug, Default)]
struct Presented {
    host_key: Option<HostKey>,
    has_channel_race: bool,
}

impl ServerIdentity {
    fn lock(&self) -> MutexGuard<'_, Presented> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn host_key(&self) -> Option<HostKey> {
        self.lock().host_key.clone()
    }

    /// See [`has_channel_race`].
    pub(super) fn has_channel_race(&self) -> bool {
        self.lock().has_channel_race
    }
}

impl Handler {
    pub(super) fn new(policy: HostKeyPolicy) -> (Self, ServerIdentity) {
        let server = ServerIdentity::default();
        let handler = Self {
            policy,
            server: server.clone(),
        };
        (handler, server)
    }
}

/// Whether a server cannot open a channel while a command of another one ends. dropbear before 2024.86 then closes the new
/// channel, and ends the whole connection by a failed assertion if a request for that channel is already on its way.
fn has_channel_race(identification: &[u8]) -> bool {
    let software = identification.strip_prefix(b"SSH-2.0-dropbear");
    let version = software.and_then(|rest| rest.strip_prefix(b"_"));
    // A server that hides its version may be an old one.
    software.is_some() && version.is_none_or(|version| version < b"2024.86".as_slice())
}

impl client::Handler for Handler {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        key: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let key = HostKey::new(&key.public_key());
        self.server.lock().host_key = Some(key.clone());
        Ok(match &self.policy {
            HostKeyPolicy::Pinned(keys) => keys.iter().any(|pinned| pinned.matches(&key)),
            HostKeyPolicy::RecordFirst => true,
        })
    }
    async fn kex_done(
        &mut self,
        _: Option<&[u8]>,
        _: &Names,
        session: &mut client::Session,
    ) -> Result<(), Self::Error> {
        self.server.lock().has_channel_race = has_channel_race(session.remote_sshid());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_of_dropbear_are_recognized() {
        let check = |identification: &str, expected| {
            assert_eq!(
                has_channel_race(identification.as_bytes()),
                expected,
                "{identification}"
            );
        };
        check("SSH-2.0-dropbear_2022.83", true);
        check("SSH-2.0-dropbear_2024.85", true);
        check("SSH-2.0-dropbear_2024.86", false);
        check("SSH-2.0-dropbear_2025.88", false);
        check("SSH-2.0-dropbear", true);
        check("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3", false);
        check("SSH-2.0-Go", false);
    }
}
