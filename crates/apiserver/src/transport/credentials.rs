//! The credentials of a server: generated when it first opens, stored in its folder, readable by the owner only.

use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};

use super::certificates::{self, Certificates};
use crate::auth::{Credentials, SecretError, SigningKey, Token};

/// One file, so that it is written atomically.
const FILE: &str = "credentials.json";

// The fields of the file.
const AUTHORITY: &str = "authority";
const CERTIFICATE: &str = "certificate";
const KEY: &str = "key";
const ADMIN_TOKEN: &str = "admin_token";
/// PKCS #8, as base64.
const SIGNING_KEY: &str = "signing_key";

/// Why credentials cannot be loaded or generated.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("failed to read or write the credentials of the server")]
    File(#[source] std::io::Error),
    #[error("failed to make certificates")]
    Certificates(#[source] rcgen::Error),
    #[error("{} is damaged", path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        damage: Damage,
    },
    #[error("failed to set up TLS")]
    Tls(#[source] Damage),
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// What is wrong with stored credentials. Values are secrets, and not part of it.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    #[error("not valid JSON")]
    Json(#[source] serde_json::Error),
    #[error("field \"{field}\" is missing or not a string")]
    NoText { field: &'static str },
    #[error("field \"{field}\" is not base64")]
    Base64 { field: &'static str },
    #[error("field \"{field}\" is not PEM")]
    Pem {
        field: &'static str,
        #[source]
        source: pem::Error,
    },
    #[error("field \"{field}\" is invalid")]
    Secret {
        field: &'static str,
        #[source]
        source: SecretError,
    },
    #[error("fields \"{CERTIFICATE}\" and \"{KEY}\" cannot be used for TLS")]
    Tls(#[source] rustls::Error),
}

/// The certificates of a server and the credentials that it accepts.
pub struct ServerCredentials {
    certificates: Certificates,
    pub(super) tls: Arc<ServerConfig>,
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
        let certificates = certificates::generate().map_err(CredentialsError::Certificates)?;
        Ok(Self {
            tls: tls_config(&certificates).map_err(CredentialsError::Tls)?,
            certificates,
            admin: Token::generate()?,
            signing_key: SigningKey::generate()?.to_bytes().to_owned(),
        })
    }

    fn read(folder: &Path) -> Result<Option<Self>, CredentialsError> {
        let path = folder.join(FILE);
        let bytes = match fs_err::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CredentialsError::File(error)),
        };
        let parsed = Self::parse(&bytes);
        let parsed = parsed.map_err(|damage| CredentialsError::Damaged { path, damage })?;
        Ok(Some(parsed))
    }

    fn parse(bytes: &[u8]) -> Result<Self, Damage> {
        let stored: Value = serde_json::from_slice(bytes).map_err(Damage::Json)?;
        let text = |field| stored[field].as_str().ok_or(Damage::NoText { field });
        let certificates = Certificates {
            authority: text(AUTHORITY)?.to_owned(),
            server: text(CERTIFICATE)?.to_owned(),
            server_key: text(KEY)?.to_owned(),
        };
        let invalid = |field| move |source| Damage::Secret { field, source };
        let admin = Token::parse(text(ADMIN_TOKEN)?).map_err(invalid(ADMIN_TOKEN))?;
        let signing_key = STANDARD.decode(text(SIGNING_KEY)?);
        let signing_key = signing_key.map_err(|_| Damage::Base64 { field: SIGNING_KEY })?;
        SigningKey::from_bytes(&signing_key).map_err(invalid(SIGNING_KEY))?;
        Ok(Self {
            tls: tls_config(&certificates)?,
            certificates,
            admin,
            signing_key,
        })
    }

    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let stored = json!({
            AUTHORITY: self.certificates.authority,
            CERTIFICATE: self.certificates.server,
            KEY: self.certificates.server_key,
            ADMIN_TOKEN: self.admin.expose(),
            SIGNING_KEY: STANDARD.encode(&self.signing_key),
        });
        write_secret(&folder.join(FILE), stored.to_string().as_bytes())
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

/// The TLS configuration of a server with these certificates.
fn tls_config(certificates: &Certificates) -> Result<Arc<ServerConfig>, Damage> {
    let pem = |field| move |source| Damage::Pem { field, source };
    CertificateDer::from_pem_slice(certificates.authority.as_bytes()).map_err(pem(AUTHORITY))?;
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(certificates.server.as_bytes()).collect();
    let chain = chain.map_err(pem(CERTIFICATE))?;
    let key = PrivateKeyDer::from_pem_slice(certificates.server_key.as_bytes());
    let key = key.map_err(pem(KEY))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(Damage::Tls)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Writes a file atomically, readable by the owner only.
pub(super) fn write_secret(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent()
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        let message = format!("{} is not a folder", folder.display());
        return Err(std::io::Error::new(ErrorKind::NotFound, message));
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    match fs_err::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
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
