//! Why an operation on images failed. Errors contain neither credentials nor queries of URLs.

use std::path::PathBuf;

use outrigger_transport::{RedirectError, RequestError, TransportError};

use crate::digest::Digest;
use crate::manifest::InvalidManifest;
use crate::reference::InvalidReference;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Reference(#[from] InvalidReference),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("{registry} rejected the credentials for {repository} (status {status})")]
    Unauthorized {
        registry: String,
        repository: String,
        status: u16,
    },
    #[error("{registry} requires credentials for {repository}")]
    CredentialsRequired {
        registry: String,
        repository: String,
    },
    #[error("{registry} asks for its credentials to be sent to {realm}, another host")]
    ForeignRealm { registry: String, realm: String },
    #[error("{registry} requires an authentication method that is not supported: {method:?}")]
    UnsupportedAuthentication { registry: String, method: String },
    #[error("the token service {realm} sent an invalid answer: {reason}")]
    InvalidToken { realm: String, reason: String },
    #[error("{what} does not exist")]
    NotFound { what: String },
    #[error("{url} responded with status {status}{}", detail(.message))]
    Status {
        url: String,
        status: u16,
        message: String,
    },
    #[error("{url} sent an invalid answer: {reason}")]
    InvalidAnswer { url: String, reason: String },
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    #[error("{url} redirects to {target}, a loopback or link-local address")]
    LocalRedirect { url: String, target: String },
    #[error("{url} is larger than {limit} bytes")]
    TooLarge { url: String, limit: u64 },
    #[error("{what} has digest {found}, but {expected} was expected")]
    DigestMismatch {
        what: String,
        expected: Digest,
        found: Digest,
    },
    #[error("{what} has {found} bytes, but its descriptor says {expected}")]
    SizeMismatch {
        what: String,
        expected: u64,
        found: u64,
    },
    #[error("the manifest of {what} is invalid")]
    InvalidManifest {
        what: String,
        #[source]
        source: InvalidManifest,
    },
    #[error("the config of the image in {what} is invalid")]
    InvalidConfig {
        what: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("{what} has no image for {platforms}; it has {found}")]
    NoPlatform {
        what: String,
        platforms: String,
        found: String,
    },
    #[error("{what} is nested more than {limit} levels deep")]
    TooDeep { what: String, limit: usize },
    #[error("{what} consists of more than {limit} manifests")]
    TooManyManifests { what: String, limit: usize },
    #[error("the manifests of {what} have more than {limit} bytes")]
    ManifestsTooLarge { what: String, limit: u64 },
    #[error("{what} has more than {limit} tags")]
    TooManyTags { what: String, limit: usize },
    #[error("the blob {digest} could not be transferred to {to}")]
    Transfer {
        digest: Digest,
        to: String,
        #[source]
        source: Box<Self>,
    },
    #[error("the blob {digest} is damaged in {repository}")]
    Damaged {
        digest: Digest,
        repository: String,
        #[source]
        source: Box<Self>,
    },
    #[error(
        "the blob {digest} is damaged in {repository}, and the registry did not replace it by the one that was sent"
    )]
    NotReplaced { digest: Digest, repository: String },
    #[error("failed to copy {what}")]
    Image {
        what: String,
        #[source]
        source: Box<Self>,
    },
    #[error("{path} is not an image archive: {reason}", path = path.display())]
    InvalidArchive { path: PathBuf, reason: String },
    #[error("failed to access {path}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the Docker configuration {path} is invalid: {reason}", path = path.display())]
    DockerConfig { path: PathBuf, reason: String },
    #[error("the credential helper {program} failed: {reason}")]
    CredentialHelper { program: String, reason: String },
    #[error("the transfer was canceled")]
    Canceled,
}

fn detail(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl Error {
    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Request(error) => error.is_transient(),
            Self::Transfer { source, .. } | Self::Image { source, .. } => source.is_transient(),
            _ => false,
        }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether the registry refuses access with these credentials, or without any.
    pub fn is_unauthorized(&self) -> bool {
        match self {
            Self::Unauthorized { .. } | Self::CredentialsRequired { .. } => true,
            Self::Status { status, .. } => matches!(status, 401 | 403),
            _ => false,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::ForeignRealm { realm, .. } => {
                return Some(format!("allow it with --token-realm {realm}"));
            }
            Self::Unauthorized { .. } | Self::CredentialsRequired { .. } => {
                "log in with `docker login`, or pass --username and --password-stdin, or --authfile with a config.json"
            }
            Self::Request(RequestError::UntrustedCertificate { .. }) => {
                "pass a private certificate authority with --ca-file; plain HTTP needs --plain-http HOST"
            }
            Self::LocalRedirect { .. } => "allow it with --allow-local-redirects",
            Self::Request(RequestError::Unreachable {
                source: TransportError::Server { status: 429 },
                ..
            }) => {
                "it accepts no more requests for now; try again later, or log in for a higher limit"
            }
            Self::Request(RequestError::Unreachable {
                source: TransportError::Server { .. },
                ..
            }) => "the registry or a proxy in front of it fails; its log says why",
            Self::Request(RequestError::Unreachable {
                source: TransportError::NoTls,
                ..
            }) => "--plain-http HOST reaches a registry over plain HTTP",
            Self::Request(RequestError::Unreachable { .. }) => {
                "check the host, whether it serves HTTPS (else --plain-http HOST), and whether a proxy or a firewall blocks it"
            }
            Self::DigestMismatch { .. } | Self::SizeMismatch { .. } => {
                "the content is damaged where it is read, or was changed on its way; it was not stored"
            }
            Self::Damaged { .. } => {
                "`outrigger image sync`, `copy` or `load` with --check-blobs sends what is damaged there again"
            }
            Self::NotReplaced { .. } => {
                "delete the blob there with the tools of that registry, and repeat the command"
            }
            Self::Transfer { source, .. } | Self::Image { source, .. } => return source.hint(),
            _ => return None,
        };
        Some(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_answers_is_not_looked_for() {
        let hint = |source| {
            let url = "https://r.local/v2/".to_owned();
            let error = Error::Request(RequestError::Unreachable { url, source });
            error.hint().unwrap()
        };
        assert!(hint(TransportError::Timeout).contains("check the host"));
        assert!(hint(TransportError::Server { status: 500 }).contains("its log says why"));
        assert!(hint(TransportError::Server { status: 429 }).contains("try again later"));
    }
}
