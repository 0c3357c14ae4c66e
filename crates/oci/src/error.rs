//! Why an operation on images failed. Errors contain neither credentials nor queries of URLs.

use std::path::PathBuf;

use outrigger_transport::{RedirectError, RequestError, TransportError};

use crate::digest::Digest;
use crate::manifest::InvalidManifest;
use crate::reference::{InvalidReference, Reference};

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
    #[error("failed to pull {image}; {}", tried(mirrors))]
    Mirrors {
        image: String,
        /// The images of the mirrors, and why they could not be pulled
        mirrors: Vec<(String, Self)>,
        /// Why it could not be pulled from its own registry; that of the last mirror if that is not tried
        #[source]
        source: Box<Self>,
    },
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

/// How to pass credentials, also those of clients other than Docker.
pub const LOG_IN: &str = "log in with `docker login`, or pass --username and --password-stdin, or --authfile FILE: that of helm is \
    ~/.config/helm/registry/config.json, that of podman and skopeo $XDG_RUNTIME_DIR/containers/auth.json";

/// The server of a URL, as `--plain-http` names it.
fn server_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    rest.split('/').next().unwrap_or(rest)
}

/// The mirrors that were tried, and why each failed.
fn tried(mirrors: &[(String, Error)]) -> String {
    let reason = |(image, error): &(String, Error)| {
        let mut text = format!("mirror {image}: {error}");
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    };
    let reasons: Vec<String> = mirrors.iter().map(reason).collect();
    reasons.join("; ")
}

impl Error {
    /// The error that matters most: among those of mirrors, the first that is not just a missing image.
    pub fn cause(&self) -> &Self {
        match self {
            Self::Mirrors {
                mirrors, source, ..
            } => {
                let mut errors = mirrors.iter().map(|(_, error)| error);
                let found = errors.find(|error| !error.is_not_found());
                found.unwrap_or(source).cause()
            }
            error => error,
        }
    }

    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Names the image that has no such platform. One that is named by a digest may be that of one platform.
    pub(crate) fn of(self, image: &Reference) -> Self {
        match self {
            Self::NoPlatform {
                platforms, found, ..
            } => Self::NoPlatform {
                what: image.to_string(),
                platforms,
                found,
            },
            other => other,
        }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Request(error) => error.is_transient(),
            Self::Transfer { source, .. } | Self::Image { source, .. } => source.is_transient(),
            Self::Mirrors {
                mirrors, source, ..
            } => source.is_transient() || mirrors.iter().any(|(_, error)| error.is_transient()),
            _ => false,
        }
    }

    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Mirrors { source, .. } => source.is_not_found(),
            error => matches!(error, Self::NotFound { .. }),
        }
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
            Self::Unauthorized { .. } | Self::CredentialsRequired { .. } => LOG_IN,
            Self::Request(error) => return Some(request_hint(error)),
            Self::Mirrors { .. } => return self.cause().hint(),
            Self::LocalRedirect { .. } => "allow it with --allow-local-redirects",
            Self::DigestMismatch { .. } | Self::SizeMismatch { .. } => {
                "the content is damaged where it is read, or was changed on its way; it was not stored"
            }
            Self::NoPlatform { what, .. } if what.contains('@') => {
                "a digest, also that of a lock file, may be the image of one platform; use another --lock file for each --platform"
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

/// What a user can do about a request that got no response.
fn request_hint(error: &RequestError) -> String {
    if let Some(hint) = error.tls_hint() {
        return hint.to_owned();
    }
    let (url, source) = match error {
        RequestError::UntrustedCertificate { .. } => {
            return "pass a private certificate authority with --ca-file".to_owned();
        }
        RequestError::KeyMismatch { .. } | RequestError::InvalidCertificates { .. } => {
            return "check that --key-file has the key of --cert-file, and that both are PEM"
                .to_owned();
        }
        RequestError::Unreachable { url, source } => (url, source),
    };
    let host = server_of(url);
    match source {
        TransportError::Server { status: 429 } => {
            "it accepts no more requests for now; try again later, or log in for a higher limit"
                .to_owned()
        }
        TransportError::Server { .. } => {
            "the registry or a proxy in front of it fails; its log says why".to_owned()
        }
        TransportError::NoTls => {
            format!("--plain-http {host} reaches a registry over plain HTTP")
        }
        TransportError::OnlyTls => format!("leave out --plain-http {host}"),
        TransportError::ClientCertificate { .. } => {
            "pass a client certificate that the server trusts with --cert-file and --key-file"
                .to_owned()
        }
        _ if url.starts_with("http://") => {
            "check the host, whether it serves plain HTTP, and whether a proxy or a firewall blocks it"
                .to_owned()
        }
        _ => format!(
            "check the host, whether it serves HTTPS (else --plain-http {host}), and whether a proxy or a firewall blocks it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, reason: &str, expected: &str) {
        let source = TransportError::Failed(reason.to_owned());
        let url = url.to_owned();
        let error = Error::Request(RequestError::Unreachable { url, source });
        let hint = error.hint().unwrap();
        assert!(hint.contains(expected), "{reason}: {hint}");
    }

    #[test]
    fn hints_name_the_flag_that_helps_and_the_port() {
        let tls = "https://r.local:5000/v2/";
        check(tls, "connection refused", "else --plain-http r.local:5000)");
        let plain = "http://r.local:5000/v2/";
        check(plain, "connection refused", "whether it serves plain HTTP");
        let hint = |reason: &str| {
            let (url, reason) = (tls.to_owned(), reason.to_owned());
            let error = RequestError::UntrustedCertificate { url, reason };
            Error::Request(error).hint().unwrap()
        };
        let other = "invalid peer certificate: certificate not valid for name \"a\"";
        assert!(hint(other).contains("a name that the certificate has"));
        let unknown = "invalid peer certificate: UnknownIssuer";
        assert!(hint(unknown).contains("--ca-file"));
    }

    #[test]
    fn a_registry_that_answers_is_not_looked_for() {
        let hint = |source| {
            let url = "https://r.local/v2/".to_owned();
            let error = Error::Request(RequestError::Unreachable { url, source });
            error.hint().unwrap()
        };
        assert!(hint(TransportError::Timeout).contains("check the host"));
        let alert = "CertificateRequired";
        let certificate = hint(TransportError::ClientCertificate { alert });
        assert!(certificate.contains("--cert-file"), "{certificate}");
        let only_tls = hint(TransportError::OnlyTls);
        assert!(
            only_tls.contains("leave out --plain-http r.local"),
            "{only_tls}"
        );
        assert!(hint(TransportError::NoTls).starts_with("--plain-http r.local "));
        assert!(hint(TransportError::Server { status: 500 }).contains("its log says why"));
        assert!(hint(TransportError::Server { status: 429 }).contains("try again later"));
    }

    #[test]
    fn errors_name_the_mirrors_that_were_tried() {
        let missing = |what: &str| Error::NotFound {
            what: what.to_owned(),
        };
        let (registry, repository) = ("r.local".to_owned(), "web".to_owned());
        let denied = Error::CredentialsRequired {
            registry,
            repository,
        };
        let error = Error::Mirrors {
            image: "quay.io/org/web:1".to_owned(),
            mirrors: vec![
                ("a.local/web:1".to_owned(), missing("a.local/web:1")),
                ("r.local/web:1".to_owned(), denied),
            ],
            source: Box::new(missing("quay.io/org/web:1")),
        };
        assert_eq!(
            error.to_string(),
            "failed to pull quay.io/org/web:1; mirror a.local/web:1: a.local/web:1 does not exist; mirror r.local/web:1: r.local requires credentials for web"
        );
        assert!(error.hint().unwrap().contains("--authfile"));
    }
}
