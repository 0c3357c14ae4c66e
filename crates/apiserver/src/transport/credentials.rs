//! The secrets of a server: made when it first opens, kept in its folder where only their owner can read them.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::certificates::{self, Certificates};
use crate::auth::Credentials;

const TOKEN: &str = "admin-token";
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
    #[error("the system gives no random numbers")]
    Random,
}

/// What a server shows to clients, and what they show to it.
#[derive(Clone)]
pub struct ServerCredentials {
    pub(super) certificates: Certificates,
    token: String,
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
        if let Some(kept) = Self::read(folder).map_err(CredentialsError::File)? {
            return Ok(kept);
        }
        let made = Self::make()?;
        made.write(folder).map_err(CredentialsError::File)?;
        Ok(made)
    }

    fn make() -> Result<Self, CredentialsError> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|_| CredentialsError::Random)?;
        Ok(Self {
            certificates: certificates::make().map_err(CredentialsError::Certificates)?,
            token: URL_SAFE_NO_PAD.encode(random),
        })
    }

    fn read(folder: &Path) -> std::io::Result<Option<Self>> {
        let read = |name: &str| match fs_err::read_to_string(folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let parts = (
            read(TOKEN)?,
            read(AUTHORITY)?,
            read(CERTIFICATE)?,
            read(KEY)?,
        );
        let (Some(token), Some(authority), Some(server), Some(server_key)) = parts else {
            return Ok(None);
        };
        Ok(Some(Self {
            certificates: Certificates {
                authority,
                server,
                server_key,
            },
            token: token.trim().to_owned(),
        }))
    }

    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let certificates = &self.certificates;
        for (name, text) in [
            (AUTHORITY, &certificates.authority),
            (CERTIFICATE, &certificates.server),
            (KEY, &certificates.server_key),
            // Last: without it all are made anew.
            (TOKEN, &self.token),
        ] {
            write_secret(&folder.join(name), text.as_bytes())?;
        }
        Ok(())
    }

    /// The certificate of the authority, as PEM.
    pub fn root_certificate(&self) -> &str {
        &self.certificates.authority
    }

    /// The token with which everything is allowed.
    pub fn admin_token(&self) -> &str {
        &self.token
    }

    pub(crate) fn auth(&self) -> Credentials {
        Credentials {
            admin_token: self.token.clone(),
        }
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
