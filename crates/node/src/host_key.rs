//! The identity of an SSH server.

use std::fmt;
use std::str::FromStr;

use russh::keys::{Algorithm, HashAlg, PublicKey};

/// A public key, or the fingerprint of one. Displayed as a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostKey(Inner);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Inner {
    Key(Box<PublicKey>),
    Fingerprint(String),
}

/// A text is neither a public key nor a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "host key {0:?} is neither a public key (`ssh-ed25519 AAAA…`) nor a fingerprint (`SHA256:…`)"
)]
pub struct InvalidHostKey(String);

impl HostKey {
    pub(crate) fn new(key: &PublicKey) -> Self {
        Self(Inner::Key(Box::new(PublicKey::new(
            key.key_data().clone(),
            "",
        ))))
    }

    /// Whether this is the key, or its fingerprint.
    pub fn matches(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Inner::Key(ours), Inner::Key(theirs)) => ours.key_data() == theirs.key_data(),
            _ => self.fingerprint() == other.fingerprint(),
        }
    }

    /// `SHA256:` and the unpadded base64 digest, as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        match &self.0 {
            Inner::Key(key) => key.fingerprint(HashAlg::Sha256).to_string(),
            Inner::Fingerprint(text) => text.clone(),
        }
    }

    /// The form to store: the public key if it is known, otherwise the fingerprint.
    pub fn to_openssh(&self) -> String {
        match &self.0 {
            Inner::Key(key) => key.to_openssh().unwrap_or_else(|_| self.fingerprint()),
            Inner::Fingerprint(text) => text.clone(),
        }
    }

    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        match &self.0 {
            Inner::Key(key) => Some(key.algorithm()),
            Inner::Fingerprint(_) => None,
        }
    }
}

impl FromStr for HostKey {
    type Err = InvalidHostKey;

    /// Parses a line of a `.pub` or `known_hosts` file, or a SHA-256 fingerprint.
    fn from_str(text: &str) -> Result<Self, InvalidHostKey> {
        let text = text.trim();
        let invalid = || InvalidHostKey(text.chars().take(100).collect());
        if text.starts_with("SHA256:") {
            let fingerprint: russh::keys::ssh_key::Fingerprint =
                text.parse().map_err(|_| invalid())?;
            return Ok(Self(Inner::Fingerprint(fingerprint.to_string())));
        }
        let key = PublicKey::from_openssh(text).or_else(|error| {
            let (_, without_host) = text.split_once(' ').ok_or(error)?;
            PublicKey::from_openssh(without_host.trim_start())
        });
        key.map(|key| Self::new(&key)).map_err(|_| invalid())
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fingerprint())
    }
}

/// Which host keys are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// Only these.
    Pinned(Vec<HostKey>),
    /// Whichever the machine presents first. The caller stores [`crate::Machine::host_key`] and pins it from then on.
    RecordFirst,
}

impl HostKeyPolicy {
    pub fn pinned(key: HostKey) -> Self {
        Self::Pinned(vec![key])
    }

    /// The algorithms to negotiate, so that a server with several keys presents the one that is pinned.
    pub(crate) fn algorithms(&self) -> Option<Vec<Algorithm>> {
        let Self::Pinned(keys) = self else {
            return None;
        };
        let algorithms: Option<Vec<_>> = keys.iter().map(HostKey::algorithm).collect();
        Some(algorithms?.into_iter().flat_map(signatures).collect())
    }
}

/// The signature algorithms of a key type.
fn signatures(algorithm: Algorithm) -> Vec<Algorithm> {
    if matches!(algorithm, Algorithm::Rsa { .. }) {
        [HashAlg::Sha512, HashAlg::Sha256]
            .map(|hash| Algorithm::Rsa { hash: Some(hash) })
            .to_vec()
    } else {
        vec![algorithm]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

    #[test]
    fn a_key_matches_itself_in_every_notation() -> Result<(), InvalidHostKey> {
        let key: HostKey = KEY.parse()?;
        let with_comment: HostKey = format!("{KEY} root@node").parse()?;
        let known_hosts: HostKey = format!("node,10.0.0.9 {KEY}").parse()?;
        let fingerprint: HostKey = key.fingerprint().parse()?;
        for other in [&with_comment, &known_hosts, &fingerprint] {
            assert!(key.matches(other) && other.matches(&key), "{other:?}");
        }
        assert_eq!(key.to_openssh(), KEY);
        Ok(())
    }

    #[test]
    fn refuses_other_texts() {
        for text in ["", "SHA256:x", "ssh-ed25519", "MD5:aa", "ssh-ed25519 AAAA"] {
            assert!(text.parse::<HostKey>().is_err(), "{text:?}");
        }
    }
}
