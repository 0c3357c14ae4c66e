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

/// A private key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPrivateKey {
    #[error("is a public key")]
    Public,
    #[error("is encrypted; set passPhrase")]
    Encrypted,
    #[error("is not a private key in a format of OpenSSH, PKCS#8, PKCS#1 or PuTTY")]
    Unreadable,
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

    /// Checks the format of the private key, so that one that cannot be used is noticed before a connection. A key with a
    /// passphrase is not decrypted, which takes long.
    pub fn check_private_key(&self) -> Result<(), InvalidPrivateKey> {
        let Some(key) = &self.private_key else {
            return Ok(());
        };
        let text = key.expose().trim_start();
        let first = text.lines().next().unwrap_or_default();
        let is_public = ["ssh-", "ecdsa-", "sk-"]
            .iter()
            .any(|it| first.starts_with(it));
        if is_public || first.contains("PUBLIC KEY") {
            return Err(InvalidPrivateKey::Public);
        }
        if self.passphrase.is_some() {
            let is_known = first.contains("PRIVATE KEY") || first.starts_with("PuTTY-User-Key-");
            return if is_known {
                Ok(())
            } else {
                Err(InvalidPrivateKey::Unreadable)
            };
        }
        match russh::keys::decode_secret_key(key.expose(), None) {
            Ok(_) => Ok(()),
            Err(russh::keys::Error::KeyIsEncrypted) => Err(InvalidPrivateKey::Encrypted),
            Err(_) if text.contains("ENCRYPTED") => Err(InvalidPrivateKey::Encrypted),
            Err(_) => Err(InvalidPrivateKey::Unreadable),
        }
    }

    pub(crate) fn for_sudo(&self) -> Option<&Secret> {
        self.sudo_password.as_ref().or(self.password.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use russh::keys::ssh_key::LineEnding;
    use russh::keys::ssh_key::private::Ed25519Keypair;
    use russh::keys::{PrivateKey, PublicKey};

    use super::*;

    fn check(text: &str, passphrase: Option<&str>) -> Result<(), InvalidPrivateKey> {
        let credentials = Credentials {
            passphrase: passphrase.map(Secret::new),
            ..Credentials::private_key(text)
        };
        credentials.check_private_key()
    }

    #[test]
    fn a_key_that_cannot_be_used_is_noticed_before_a_connection() {
        let pair = Ed25519Keypair::from_seed(&[7; 32]);
        let key = PrivateKey::from(pair);
        let private = key.to_openssh(LineEnding::LF).unwrap();
        let public = PublicKey::from(&key).to_openssh().unwrap();
        assert_eq!(check(&private, None), Ok(()));
        assert_eq!(check(&public, None), Err(InvalidPrivateKey::Public));
        assert_eq!(check("hello", None), Err(InvalidPrivateKey::Unreadable));
        let hello = check("hello", Some("x"));
        assert_eq!(hello, Err(InvalidPrivateKey::Unreadable));
        let encrypted =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        assert_eq!(check(encrypted, None), Err(InvalidPrivateKey::Encrypted));
        assert_eq!(check(encrypted, Some("x")), Ok(()));
    }
}
