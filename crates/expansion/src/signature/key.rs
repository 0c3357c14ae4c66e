//! Ed25519 keys in PEM, as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_oci::Digest;

/// The structure before the bytes of a public key.
const PUBLIC_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

const PRIVATE: &str = "PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";

/// The largest file of a key.
const MAX_FILE: u64 = 64 << 10;

/// A key that signs packages. It is never printed.
pub struct PrivateKey(Ed25519KeyPair);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.public().id())
    }
}

/// A key that packages are verified with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("failed to read the key {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the private key {} can be read by others: its mode is {mode:04o}", path.display())]
    Permissions { path: PathBuf, mode: u32 },
    #[error("{} has no {expected} in PEM", path.display())]
    NoPem {
        path: PathBuf,
        expected: &'static str,
    },
    #[error("{} has a private key, where a public one is needed", .0.display())]
    IsPrivate(PathBuf),
    #[error("{} has a public key, where a private one is needed", .0.display())]
    IsPublic(PathBuf),
    #[error("the private key {} has a passphrase, which is not supported", .0.display())]
    IsEncrypted(PathBuf),
    #[error("the key of {} is not an Ed25519 key", .0.display())]
    Algorithm(PathBuf),
    #[error("failed to generate a key")]
    Generate,
}

impl KeyError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Permissions { path, .. } => Some(format!("chmod 600 {}", path.display())),
            Self::NoPem { .. } | Self::Algorithm(_) => {
                Some("`outrigger expansion keygen` makes a pair of keys".to_owned())
            }
            Self::IsPrivate(_) => Some("pass the file that ends in .pub".to_owned()),
            Self::IsPublic(_) => Some("pass the file that ends in .key".to_owned()),
            Self::IsEncrypted(path) => Some(format!(
                "`openssl pkey -in {} -out NEW` removes the passphrase",
                path.display()
            )),
            Self::Io { .. } | Self::Generate => None,
        }
    }
}

impl PrivateKey {
    /// Makes a new key.
    pub fn generate() -> Result<Self, KeyError> {
        Ed25519KeyPair::generate()
            .map(Self)
            .map_err(|_| KeyError::Generate)
    }

    /// Reads a key from a file that only its owner can read.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = io_error(path);
        let text = read(path)?;
        // A public key may be read by others, so that is not what is wrong with it.
        let Some(der) = decode(&text, PRIVATE) else {
            return Err(not_private(path, &text));
        };
        let mode = fs_err::metadata(path).map_err(&failed)?;
        let mode = mode.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let path = path.to_owned();
            return Err(KeyError::Permissions { path, mode });
        }
        let key = Ed25519KeyPair::from_pkcs8(&der);
        key.map(Self)
            .map_err(|_| KeyError::Algorithm(path.to_owned()))
    }

    /// The key in PEM.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let der = self.0.to_pkcs8v1().map_err(|_| KeyError::Generate)?;
        Ok(encode(PRIVATE, der.as_ref()))
    }

    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        let public = self.0.public_key().as_ref();
        for (byte, public) in bytes.iter_mut().zip(public) {
            *byte = *public;
        }
        PublicKey(bytes)
    }

    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        Some(self.0.try_sign(message).ok()?.as_ref().to_vec())
    }
}

impl PublicKey {
    /// Reads a key from a file.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = read(path)?;
        let Some(der) = decode(&text, PUBLIC) else {
            let path = path.to_owned();
            return Err(match decode(&text, PRIVATE) {
                Some(_) => KeyError::IsPrivate(path),
                None => KeyError::NoPem {
                    path,
                    expected: PUBLIC,
                },
            });
        };
        let key = der
            .strip_prefix(&PUBLIC_PREFIX)
            .and_then(|key| key.try_into().ok());
        key.map(Self)
            .ok_or_else(|| KeyError::Algorithm(path.to_owned()))
    }

    /// The key in PEM.
    pub fn to_pem(&self) -> String {
        encode(PUBLIC, &self.der())
    }

    /// The digest of the key, which names it.
    pub fn id(&self) -> String {
        Digest::of(&self.der()).to_string()
    }

    fn der(&self) -> Vec<u8> {
        [&PUBLIC_PREFIX[..], &self.0].concat()
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(message, signature).is_ok()
    }
}

/// What a file without a private key has instead.
fn not_private(path: &Path, text: &str) -> KeyError {
    let has = |label: &str| decode(text, label).is_some();
    if has(PUBLIC) {
        KeyError::IsPublic(path.to_owned())
    } else if has(ENCRYPTED) {
        KeyError::IsEncrypted(path.to_owned())
    } else {
        KeyError::NoPem {
            path: path.to_owned(),
            expected: PRIVATE,
        }
    }
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::Io {
        path: path.clone(),
        source,
    }
}

fn read(path: &Path) -> Result<String, KeyError> {
    let failed = io_error(path);
    let mut text = String::new();
    let file = fs_err::File::open(path).map_err(&failed)?;
    io::Read::read_to_string(&mut io::Read::take(file, MAX_FILE), &mut text).map_err(failed)?;
    Ok(text)
}

fn encode(label: &str, der: &[u8]) -> String {
    // The encoding of an Ed25519 key is shorter than a line of PEM, or a little longer.
    let encoded = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

/// The content of the first block with this label.
fn decode(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let encoded: String = body.split_whitespace().collect();
    STANDARD.decode(encoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`, version 3.0.
    const OPENSSL_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIFACl8f3fILghAFmjy3PZiR5d2QGBj5lpp4+RySd5ra0\n-----END PRIVATE KEY-----\n";
    const OPENSSL_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA6yJGxioEsrnRM3C5/oNo9rolXjUBxBp/U5a93WNkiuU=\n-----END PUBLIC KEY-----\n";

    fn file(folder: &tempfile::TempDir, content: &str, mode: u32) -> PathBuf {
        let path = folder.path().join("key");
        fs_err::write(&path, content).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn keys_of_openssl_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let public = PublicKey::read(&file(&folder, OPENSSL_PUBLIC, 0o644)).unwrap();
        let private = PrivateKey::read(&file(&folder, OPENSSL_PRIVATE, 0o600)).unwrap();
        assert_eq!(private.public(), public);
        assert_eq!(public.to_pem(), OPENSSL_PUBLIC);
        assert_eq!(private.to_pem().unwrap(), OPENSSL_PRIVATE);
        let signature = private.sign(b"message").unwrap();
        assert!(public.verifies(b"message", &signature));
        assert!(!public.verifies(b"messages", &signature));
    }

    #[test]
    fn private_keys_that_others_can_read_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o640, 0o604, 0o620] {
            let path = file(&folder, OPENSSL_PRIVATE, mode);
            let error = PrivateKey::read(&path).unwrap_err();
            assert!(matches!(error, KeyError::Permissions { .. }), "{error}");
        }
    }

    #[test]
    fn what_is_not_a_key_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let public = |text: &str| PublicKey::read(&file(&folder, text, 0o600)).unwrap_err();
        assert!(matches!(public(OPENSSL_PRIVATE), KeyError::IsPrivate(_)));
        assert!(matches!(public("text"), KeyError::NoPem { .. }));
        let other = encode(PUBLIC, &[1; 44]);
        assert!(matches!(public(&other), KeyError::Algorithm(_)));
        let private = PrivateKey::read(&file(&folder, &encode(PRIVATE, &[1; 48]), 0o600));
        assert!(matches!(private.unwrap_err(), KeyError::Algorithm(_)));
        let private = |text: &str| PrivateKey::read(&file(&folder, text, 0o644)).unwrap_err();
        let error = private(OPENSSL_PUBLIC);
        assert!(matches!(error, KeyError::IsPublic(_)), "{error}");
        assert!(error.hint().unwrap().contains(".key"));
        let error = private(&encode(ENCRYPTED, &[1; 48]));
        assert!(matches!(error, KeyError::IsEncrypted(_)), "{error}");
        assert!(matches!(private("text"), KeyError::NoPem { .. }));
        let debug = format!("{:?}", PrivateKey::generate().unwrap());
        assert!(debug.starts_with("PrivateKey(sha256:"), "{debug}");
    }
}
