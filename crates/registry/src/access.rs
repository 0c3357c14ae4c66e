//! Who may pull and push: everyone, or the users of an htpasswd file.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use outrigger_chart::load;
use outrigger_oci::Digest;

use crate::tokens::{Permission, Tokens};

/// The users of a registry. `Debug` shows no hashes.
#[derive(Default)]
pub struct Access {
    users: HashMap<String, String>,
    /// Whether clients without credentials may pull
    pub anonymous_pull: bool,
    /// Whether clients get tokens from `/token` instead of sending their password with each request
    pub tokens: bool,
    /// Digests of credentials that were verified: bcrypt is slow on purpose
    verified: Mutex<HashSet<Digest>>,
}

#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("failed to read {path}", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path}, line {line}: not USER:HASH with a bcrypt hash, as `htpasswd -B` writes them", path = path.display())]
    Line { path: PathBuf, line: usize },
}

/// The largest htpasswd file.
const MAX_FILE: u64 = 16 << 20;

/// Verified credentials that are kept.
const MAX_VERIFIED: usize = 1024;

/// Who sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Anonymous,
    User,
    Token(Permission),
    /// The credentials are wrong.
    Rejected,
}

impl Access {
    /// Reads an htpasswd file with bcrypt hashes.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let failed = |source| AccessError::Read {
            path: path.to_owned(),
            source,
        };
        let bytes = load::read_file(path, MAX_FILE).map_err(failed)?;
        let text = String::from_utf8(bytes)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        let mut users = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let user = line
                .split_once(':')
                .filter(|(_, hash)| hash.starts_with("$2"));
            let (user, hash) = user.ok_or_else(|| AccessError::Line {
                path: path.to_owned(),
                line: index + 1,
            })?;
            users.insert(user.to_owned(), hash.to_owned());
        }
        Ok(Self {
            users,
            ..Self::default()
        })
    }

    /// Whether there are users; without any, everyone may do everything.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.users.is_empty()
    }

    /// Whether a request has a password that was not verified before. That is slow.
    pub(crate) fn has_new_password(&self, headers: &HeaderMap) -> bool {
        let authorization = headers.get(AUTHORIZATION);
        let authorization = authorization.and_then(|value| value.to_str().ok());
        let (method, value) = authorization
            .and_then(|text| text.split_once(' '))
            .unwrap_or_default();
        let key = Digest::of(value.trim().as_bytes());
        method.eq_ignore_ascii_case("basic")
            && !self.with_verified(|verified| verified.contains(&key))
    }

    /// Identifies a client. Blocks to verify a password.
    pub(crate) fn identify(&self, headers: &HeaderMap, tokens: &Tokens) -> Identity {
        let Some(header) = headers.get(AUTHORIZATION) else {
            return Identity::Anonymous;
        };
        let header = header.to_str().unwrap_or_default();
        let (method, value) = header.split_once(' ').unwrap_or((header, ""));
        if method.eq_ignore_ascii_case("bearer") {
            return tokens
                .verify(value.trim())
                .map_or(Identity::Rejected, Identity::Token);
        }
        if method.eq_ignore_ascii_case("basic") && self.verify(value.trim()) {
            return Identity::User;
        }
        Identity::Rejected
    }

    fn verify(&self, encoded: &str) -> bool {
        let key = Digest::of(encoded.as_bytes());
        if self.with_verified(|verified| verified.contains(&key)) {
            return true;
        }
        let Some(decoded) = STANDARD
            .decode(encoded)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
        else {
            return false;
        };
        let Some((user, password)) = decoded.split_once(':') else {
            return false;
        };
        let is_valid = self
            .users
            .get(user)
            .is_some_and(|hash| bcrypt::verify(password, hash).unwrap_or(false));
        if is_valid {
            self.with_verified(|verified| {
                if verified.len() >= MAX_VERIFIED {
                    verified.clear();
                }
                verified.insert(key);
            });
        }
        is_valid
    }

    fn with_verified<T>(&self, f: impl FnOnce(&mut HashSet<Digest>) -> T) -> T {
        f(&mut self.verified.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a client may read or write.
    pub(crate) fn permits(&self, identity: Identity, is_read: bool) -> bool {
        match identity {
            Identity::User | Identity::Token(Permission::Push) => true,
            Identity::Token(Permission::Pull) => is_read,
            Identity::Anonymous => !self.is_restricted() || (is_read && self.anonymous_pull),
            Identity::Rejected => false,
        }
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("users", &self.users.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_verified_by_bcrypt_and_others_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("htpasswd");
        let hash = bcrypt::hash("hunter2", 4).unwrap();
        fs_err::write(&path, format!("# users\nann:{hash}\n")).unwrap();
        let access = Access::read(&path).unwrap();
        let tokens = Tokens::new().unwrap();
        let identify = |header: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().unwrap());
            access.identify(&headers, &tokens)
        };
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for _ in 0..2 {
            assert_eq!(identify(&basic("ann:hunter2")), Identity::User);
        }
        for wrong in [
            basic("ann:hunter3"),
            basic("bob:hunter2"),
            basic("ann"),
            "Basic !".to_owned(),
            "Bearer x".to_owned(),
        ] {
            assert_eq!(identify(&wrong), Identity::Rejected);
        }
        let is_new = |header: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().unwrap());
            access.has_new_password(&headers)
        };
        // A scheme has no case. Whoever was verified does not wait for those who guess.
        let wrong = basic("ann:hunter3");
        assert!(is_new(&wrong) && is_new(&wrong.replace("Basic", "bAsIc")));
        assert!(!is_new(&basic("ann:hunter2")) && !is_new("Bearer x"));
        assert!(!access.has_new_password(&HeaderMap::new()));
        assert!(!access.permits(Identity::Anonymous, true));
        assert!(Access::default().permits(Identity::Anonymous, false));
        fs_err::write(&path, "ann:plain\n").unwrap();
        assert!(matches!(
            Access::read(&path),
            Err(AccessError::Line { line: 1, .. })
        ));
    }
}
