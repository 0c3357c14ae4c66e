//! Callbacks of an SSH session: the check of the host key.

use std::sync::{Arc, Mutex, PoisonError};

use russh::client;
use russh::keys::PublicKeyOrCertificate;

use crate::{HostKey, HostKeyPolicy};

/// Checks the host key by the policy, and remembers it.
#[derive(Debug)]
pub(crate) struct Handler {
    policy: HostKeyPolicy,
    offered: Arc<Mutex<Option<HostKey>>>,
}

/// The key that the server offered, once it did.
#[derive(Debug, Clone)]
pub(super) struct Offered(Arc<Mutex<Option<HostKey>>>);

impl Offered {
    pub(super) fn get(&self) -> Option<HostKey> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Handler {
    pub(super) fn new(policy: HostKeyPolicy) -> (Self, Offered) {
        let offered = Arc::new(Mutex::new(None));
        let handler = Self {
            policy,
            offered: Arc::clone(&offered),
        };
        (handler, Offered(offered))
    }
}

impl client::Handler for Handler {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        key: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let key = HostKey::new(&key.public_key());
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        Ok(match &self.policy {
            HostKeyPolicy::Pinned(keys) => keys.iter().any(|pinned| pinned.matches(&key)),
            HostKeyPolicy::RecordFirst => true,
        })
    }
}
