//! The credentials of a server: generated when it first opens, stored in its folder, readable by the owner only.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use serde::{Deserialize, Serialize};

use super::certificates::{self, Certificates};
use crate::auth::{Credentials, SecretError, SigningKey, Token};

/// One file, so that it is written atomically.
const FILE: &str = "credentials.json";

/// The stored credentials.
#[derive(Serialize, Deserialize)]
struct Kept {
    authority: String,
    certificate: String,
    key: String,
    admin_token: String,
    /// PKCS #8, as base64.
    signing_key: String,
}

/// Why credentials cannot be loaded or generated.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("failed to read or write the secrets of the server")]
    File(#[source] std::io::Error),
    #[error("failed to make certificates")]
    Certificates(#[source] rcgen::Error),
    #[error("the file with the secrets of the server is damaged")]
    Damaged,
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// The certificates of a server and the credentials that it accepts.
pub struct ServerCredentials {
    pub(super) certificates: Certificates,
    admin: Token,
    signing_key: Vec<u8>,
}

impl fmt::Debug for ServerCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerCredentials")
            .finish_non_exhaustive()
    }
}

impl ServerCredentials {
    /// Loads the credentials in the folder, or generates and stores new ones.
    pub(crate) fn load(folder: Option<&Path>) -> Result<Self, CredentialsError> {
        let Some(folder) = folder else {
            return Self::make();
        };
        if let Some(kept) = Self::read(folder)? {
            return Ok(kept);
        }
        let made = Self::make()?;
        made.write(folder).map_err(CredentialsError::File)?;
        Ok(made)
    }

    fn make() -> Result<Self, CredentialsError> {
        Ok(Self {
            certificates: certificates::generate().map_err(CredentialsError::Certificates)?,
            admin: Token::generate()?,
            signing_key: SigningKey::generate()?.to_bytes().to_owned(),
        })
    }

    fn read(folder: &Path) -> Result<Option<Self>, CredentialsError> {
        let bytes = match fs_err::read(folder.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CredentialsError::File(error)),
        };
        let kept: Kept = serde_json::from_slice(&bytes).map_err(|_| CredentialsError::Damaged)?;
        let signing_key = STANDARD.decode(kept.signing_key);
        Ok(Some(Self {
            certificates: Certificates {
                authority: kept.authority,
                server: kept.certificate,
                server_key: kept.key,
            },
            admin: Token::parse(&kept.admin_token)?,
            signing_key: signing_key.map_err(|_| CredentialsError::Damaged)?,
        }))
    }

    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let certificates = &self.certificates;
        let kept = Kept {
            authority: certificates.authority.clone(),
            certificate: certificates.server.clone(),
            key: certificates.server_key.clone(),
            admin_token: self.admin.expose().to_owned(),
            signing_key: STANDARD.encode(&self.signing_key),
        };
        let bytes = serde_json::to_vec(&kept)?;
        write_secret(&folder.join(FILE), &bytes)
    }

    /// The CA certificate in PEM.
    pub fn root_certificate(&self) -> &str {
        &self.certificates.authority
    }

    /// The token of the administrator.
    pub fn admin_token(&self) -> &Token {
        &self.admin
    }

    pub(crate) fn auth(&self) -> Result<Credentials, CredentialsError> {
        let key = SigningKey::from_bytes(&self.signing_key)?;
        Ok(Credentials::new(self.admin.clone(), key))
    }
}

/// Writes a file atomically, readable by the owner only.
pub(super) fn write_secret(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    match fs_err::remove_file(&temporary) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = write_new(&temporary, bytes).and_then(|()| fs_err::rename(&temporary, path));
    if written.is_err() {
        // The error matters more than what is left.
        let _ = fs_err::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs_err::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
