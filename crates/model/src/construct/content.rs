//! Where the bytes of a file come from. Secrets are always references.

use serde::{Deserialize, Serialize};

use crate::secret::SecretRef;

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes in base64.
    Base64(String),
    /// A file in the folder of the plugin, by path and digest.
    #[serde(rename_all = "camelCase")]
    Source {
        /// The path in the folder.
        path: String,
        /// The SHA-256 digest in hexadecimal.
        sha256: String,
    },
    /// A download, verified by digest.
    #[serde(rename_all = "camelCase")]
    Url {
        /// The address.
        url: String,
        /// The SHA-256 digest in hexadecimal.
        sha256: String,
    },
    /// The value of a secret.
    Secret(SecretRef),
    /// Part of a key pair.
    #[serde(rename_all = "camelCase")]
    KeyPair {
        /// The name of the key pair.
        name: String,
        /// The part.
        part: KeyPairPart,
    },
}

/// A part of a key pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyPairPart {
    /// The certificate.
    Certificate,
    /// The private key, which is a secret.
    PrivateKey,
}

impl Content {
    /// Whether the bytes are secret.
    pub const fn is_secret(&self) -> bool {
        matches!(
            self,
            Self::Secret(_)
                | Self::KeyPair {
                    part: KeyPairPart::PrivateKey,
                    ..
                }
        )
    }

    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Source { sha256, .. } | Self::Url { sha256, .. } if !is_sha256(sha256) => {
                Err("sha256 must be 64 lowercase hexadecimal digits".to_owned())
            }
            Self::Url { url, .. } if !url.starts_with("https://") => {
                Err("downloads must use https".to_owned())
            }
            Self::Secret(secret) if secret.name.is_empty() => {
                Err("the secret has no name".to_owned())
            }
            _ => Ok(()),
        }
    }
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
