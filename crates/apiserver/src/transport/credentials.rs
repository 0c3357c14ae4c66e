//! The secrets of a server: made when it first opens, kept in its folder where only their owner can read them.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::certificates::{self, Certificates};
use crate::auth::{Credentials, SecretError, SigningKey, Token};

const TOKEN: &str = "admin-token";
const SIGNING_KEY: &str = "service-account.key";
const AUTHORITY: &str = "ca.crt";
const CERTIFICATE: &str = "apiserver.crt";
const KEY: &str = "apiserver.key";

/// Why there are no secrets.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("failed to read or write the secrets of the server")]
    File(#[source] std::io::Error),
    #[error("failed to make certificates")]
    Certificates(#[source] rcgen::Error),
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// What a server shows to clients, and what they show to it.
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
    /// Those in the folder, or new ones, which are kept there if there is one.
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
            certificates: certificates::make().map_err(CredentialsError::Certificates)?,
            admin: Token::generate()?,
            signing_key: SigningKey::generate()?.to_bytes().to_owned(),
        })
    }

    /// None if not all are there.
    fn read(folder: &Path) -> Result<Option<Self>, CredentialsError> {
        let read = |name: &str| match fs_err::read(folder.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CredentialsError::File(error)),
        };
        let text = |name: &str| {
            let bytes = read(name)?;
            Ok::<_, CredentialsError>(
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            )
        };
        let certificates = (text(AUTHORITY)?, text(CERTIFICATE)?, text(KEY)?);
        let secrets = (text(TOKEN)?, read(SIGNING_KEY)?);
        let ((Some(authority), Some(server), Some(server_key)), (Some(token), Some(signing_key))) =
            (certificates, secrets)
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            certificates: Certificates {
                authority,
                server,
                server_key,
            },
            admin: Token::parse(&token)?,
            signing_key,
        }))
    }

    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let certificates = &self.certificates;
        for (name, bytes) in [
            (AUTHORITY, certificates.authority.as_bytes()),
            (CERTIFICATE, certificates.server.as_bytes()),
            (KEY, certificates.server_key.as_bytes()),
            (SIGNING_KEY, &self.signing_key),
            // Last: without it all are made anew.
            (TOKEN, self.admin.expose().as_bytes()),
        ] {
            write_secret(&folder.join(name), bytes)?;
        }
        Ok(())
    }

    /// The certificate of the authority, as PEM.
    pub fn root_certificate(&self) -> &str {
        &self.certificates.authority
    }

    /// The token with which everything is allowed.
    pub fn admin_token(&self) -> &Token {
        &self.admin
    }

    /// What requests are checked against.
    pub(crate) fn auth(&self) -> Result<Credentials, CredentialsError> {
        let key = SigningKey::from_bytes(&self.signing_key)?;
        Ok(Credentials::new(self.admin.clone(), key))
    }
}

/// Writes a file that only its owner can read, all of it or nothing.
pub(super) fn write_secret(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    match fs_err::remove_file(&temporary) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs_err::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs_err::rename(temporary, path)
}
