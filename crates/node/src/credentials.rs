//! What a user presents to a machine.

use std::path::PathBuf;

use crate::Secret;

/// How to log in, and how to become root. Methods are tried in the order of the fields.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// A private key in a format of OpenSSH, PKCS#8, PKCS#1 or `PuTTY`.
    pub private_key: Option<Secret>,
    /// Decrypts the private key.
    pub passphrase: Option<Secret>,
    /// The socket of an SSH agent.
    pub agent: Option<PathBuf>,
    /// For password and keyboard-interactive authentication, and for sudo unless `sudo_password` is set.
    pub password: Option<Secret>,
    pub sudo_password: Option<Secret>,
    /// Whether commands run as the user who logs in instead of root.
    pub unprivileged: bool,
}

impl Credentials {
    pub fn password(password: impl Into<String>) -> Self {
        Self {
            password: Some(Secret::new(password)),
            ..Self::default()
        }
    }

    pub fn private_key(key: impl Into<String>) -> Self {
        Self {
            private_key: Some(Secret::new(key)),
            ..Self::default()
        }
    }

    pub fn agent(socket: impl Into<PathBuf>) -> Self {
        Self {
            agent: Some(socket.into()),
            ..Self::default()
        }
    }

    pub(crate) fn for_sudo(&self) -> Option<&Secret> {
        self.sudo_password.as_ref().or(self.password.as_ref())
    }
}
