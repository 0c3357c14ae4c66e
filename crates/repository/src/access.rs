//! Credentials and certificates for a repository. `Debug` and `Display` redact them.

use outrigger_transport::{Credentials, Secret, Tls};

/// How to authenticate to a repository. The default is anonymous access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    pub credentials: Option<Credentials>,
    pub tls: Tls,
}

impl Access {
    /// Reads the data of a Secret: `username` and `password` or `token`, and for TLS `ca.crt`, `tls.crt`, `tls.key`.
    pub fn from_data<'a>(get: impl Fn(&str) -> Option<&'a [u8]>) -> Self {
        let text = |key: &str| get(key).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let credentials = match (text("token"), text("username"), text("password")) {
            (Some(token), _, _) => Some(Credentials::Bearer(Secret::new(token.trim()))),
            (None, Some(username), password) => Some(Credentials::Basic {
                username: username.to_owned(),
                password: Secret::new(password.unwrap_or_default()),
            }),
            (None, None, _) => None,
        };
        let client = get("tls.crt").zip(text("tls.key"));
        Self {
            credentials,
            tls: Tls {
                ca: get("ca.crt").map(<[u8]>::to_vec),
                client: client.map(|(cert, key)| (cert.to_vec(), Secret::new(key))),
            },
        }
    }

    /// A digest of the credentials, part of the cache key, so that cached files are not shared between users.
    pub(crate) fn fingerprint(&self) -> String {
        let mut parts: Vec<&[u8]> = Vec::new();
        match &self.credentials {
            None => {}
            Some(Credentials::Basic { username, password }) => {
                parts.extend([
                    b"basic".as_slice(),
                    username.as_bytes(),
                    password.reveal().as_bytes(),
                ]);
            }
            Some(Credentials::Bearer(token)) => {
                parts.extend([b"bearer".as_slice(), token.reveal().as_bytes()]);
            }
        }
        if let Some(ca) = &self.tls.ca {
            parts.extend([b"ca".as_slice(), ca]);
        }
        if let Some((cert, _)) = &self.tls.client {
            parts.extend([b"client".as_slice(), cert]);
        }
        crate::digest::of_parts(&parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_and_display_redact_secrets() {
        let access = Access::from_data(|key| match key {
            "username" => Some(b"ann"),
            "password" => Some(b"hunter2"),
            "tls.crt" => Some(b"certificate"),
            "tls.key" => Some(b"hunter2 key"),
            _ => None,
        });
        assert!(matches!(
            access.credentials,
            Some(Credentials::Basic { .. })
        ));
        let printed = format!("{access:?} {}", Secret::new("hunter2"));
        assert!(!printed.contains("hunter2"), "{printed}");
    }

    #[test]
    fn fingerprints_differ_by_credentials() {
        let bearer = |token: &str| Access {
            credentials: Some(Credentials::Bearer(Secret::new(token))),
            ..Access::default()
        };
        assert_ne!(bearer("a").fingerprint(), bearer("b").fingerprint());
        assert_ne!(bearer("a").fingerprint(), Access::default().fingerprint());
        assert_eq!(bearer("a").fingerprint(), bearer("a").fingerprint());
    }
}
