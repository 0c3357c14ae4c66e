//! Why a chart cannot be fetched. Errors contain neither credentials nor queries of URLs.

use std::fmt;
use std::path::PathBuf;

use outrigger_chart::load;
use outrigger_chart::load::archive::MAX_TOTAL;
use url::Url;

use crate::local::{MAX_DEPTH, MAX_ENTRIES};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{url:?} is not a chart source: {reason}")]
    InvalidSource { url: String, reason: String },
    #[error("{url}: OCI registries are not supported yet")]
    Oci { url: String },
    #[error("the Repository {name:?} is not resolved")]
    UnresolvedName { name: String },
    #[error("{version:?} is not a version or version range: {reason}")]
    InvalidRange { version: String, reason: String },
    #[error(
        "{location} has no chart {chart}{}{}",
        OfVersion(version),
        Nearest(nearest)
    )]
    NotFound {
        location: String,
        chart: String,
        version: Option<String>,
        /// The newest versions of the chart, or similar names if the chart does not exist
        nearest: Vec<String>,
    },
    #[error("{url} has digest {found}, but the index has {expected}")]
    DigestMismatch {
        url: String,
        expected: String,
        found: String,
    },
    #[error("{url} rejected the credentials (status {status})")]
    Unauthorized { url: String, status: u16 },
    #[error("failed to reach {url}")]
    Unreachable {
        url: String,
        #[source]
        source: TransportError,
    },
    #[error("TLS verification of {url} failed: {reason}")]
    UntrustedCertificate { url: String, reason: String },
    #[error("{url} responded with status {status}")]
    UnexpectedStatus { url: String, status: u16 },
    #[error("{url} is larger than {limit} bytes")]
    TooLarge { url: String, limit: u64 },
    #[error("{url} redirects {reason}")]
    Redirect { url: String, reason: String },
    #[error("the index of {url} is invalid{}: {reason}", AtLine(*line))]
    InvalidIndex {
        url: String,
        line: Option<usize>,
        reason: String,
    },
    #[error("the certificates for {url} are invalid")]
    InvalidCertificates {
        url: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("{location} is not a valid chart")]
    InvalidChart {
        location: String,
        #[source]
        source: Box<load::Error>,
    },
    #[error("{location} has no folder {path}")]
    PathNotFound { location: String, path: String },
    #[error("{location} has {limit}")]
    Limit { location: String, limit: Limit },
    #[error("the task that loads the chart was canceled")]
    Canceled,
    #[error("failed to read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// A limit of local folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    #[error("more than {MAX_ENTRIES} files and folders")]
    Entries,
    #[error("folders that are nested more than {MAX_DEPTH} levels deep")]
    Depth,
    #[error("manifests of more than {MAX_TOTAL} bytes in total")]
    Bytes,
}

/// Why a server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("timed out")]
    Timeout,
    #[error("the connection was closed after {received} bytes")]
    ConnectionClosed { received: u64 },
    #[error("the server responded with status {status}")]
    Server { status: u16 },
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// A machine-readable reason in CamelCase, for conditions.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::InvalidSource { .. } | Self::UnresolvedName { .. } => "InvalidSource",
            Self::Oci { .. } => "Unsupported",
            Self::InvalidRange { .. } => "InvalidVersion",
            Self::NotFound { .. } | Self::PathNotFound { .. } => "ChartNotFound",
            Self::DigestMismatch { .. } => "DigestMismatch",
            Self::Unauthorized { .. } => "Unauthorized",
            Self::Unreachable { .. } => "Unreachable",
            Self::UnexpectedStatus { .. } | Self::Redirect { .. } | Self::TooLarge { .. } => {
                "UnexpectedResponse"
            }
            Self::InvalidIndex { .. } => "InvalidIndex",
            Self::InvalidCertificates { .. } => "InvalidCertificates",
            Self::UntrustedCertificate { .. } => "UntrustedCertificate",
            Self::InvalidChart { .. } => "InvalidChart",
            Self::Limit { .. } => "TooLarge",
            Self::Read { .. } | Self::Canceled => "Unreadable",
        }
    }

    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Oci { .. } => "use an https:// Helm repository or a file:// folder",
            Self::DigestMismatch { .. } => {
                "the archive was replaced or is corrupt; contact the owner of the repository"
            }
            Self::Unauthorized { .. } => {
                "create a Repository with a secretRef to a Secret with username and password, or token"
            }
            Self::Unreachable { .. } => {
                "check the URL, and whether a proxy or a firewall blocks it"
            }
            Self::UntrustedCertificate { .. } => {
                "add a private certificate authority as ca.crt to the Secret of the Repository"
            }
            Self::InvalidRange { .. } => {
                "use a version such as \"1.2.3\", or a range such as \"^1.2\" or \">=1.2, <2\""
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// The URL without query, fragment and credentials, which may be secret.
pub(crate) fn redact(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for URLs without a host, which have no credentials.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.to_string()
}

struct OfVersion<'a>(&'a Option<String>);

impl fmt::Display for OfVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(version) => write!(f, " of version {version:?}"),
            None => Ok(()),
        }
    }
}

struct Nearest<'a>(&'a [String]);

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "; nearest: {}", self.0.join(", "))
    }
}

struct AtLine(Option<usize>);

impl fmt::Display for AtLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, ", line {line}"),
            None => Ok(()),
        }
    }
}
