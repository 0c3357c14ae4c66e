//! Why a chart cannot be had. Nothing here holds a credential or the query of a URL.

use std::fmt;
use std::path::PathBuf;

use outrigger_chart::load;
use url::Url;

/// Each says what was looked for, where, and what came instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{url:?} is no source of charts: {reason}")]
    BadSource { url: String, reason: String },
    #[error("{url}: OCI registries are not supported yet")]
    Oci { url: String },
    #[error("{name:?} is the name of a Repository, which must be looked up first")]
    Named { name: String },
    #[error("{version:?} is no version or range: {reason}")]
    BadRange { version: String, reason: String },
    #[error(
        "{place} has no chart {chart}{}{}",
        OfVersion(version),
        Nearest(nearest)
    )]
    NotFound {
        place: String,
        chart: String,
        version: Option<String>,
        /// The versions of the chart that are nearest; of a chart that is not there, names that are near
        nearest: Vec<String>,
    },
    #[error("{url} has the digest {found}, but the index says {expected}")]
    DigestMismatch {
        url: String,
        expected: String,
        found: String,
    },
    #[error("{url} refuses our credentials ({status})")]
    Unauthorized { url: String, status: u16 },
    #[error("{url} cannot be reached")]
    Unreachable {
        url: String,
        #[source]
        source: Transport,
    },
    #[error("{url} is not who it says: {reason}")]
    Untrusted { url: String, reason: String },
    #[error("{url} answers {status}")]
    Status { url: String, status: u16 },
    #[error("{url} is larger than {limit} bytes")]
    TooLarge { url: String, limit: u64 },
    #[error("{url} redirects {reason}")]
    Redirect { url: String, reason: String },
    #[error("the index of {url} cannot be used{}: {reason}", AtLine(*line))]
    BadIndex {
        url: String,
        line: Option<usize>,
        reason: String,
    },
    #[error("the certificates for {url} cannot be used")]
    Tls {
        url: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("{place} is no chart")]
    BadChart {
        place: String,
        #[source]
        source: Box<load::Error>,
    },
    #[error("{place} has no folder {path}")]
    NoPath { place: String, path: String },
    #[error("loading was cut short")]
    Interrupted,
    #[error("failed to read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// What went wrong on the way.
#[derive(Debug, thiserror::Error)]
pub enum Transport {
    #[error("no answer in time")]
    Timeout,
    #[error("the connection was cut after {received} bytes")]
    Cut { received: u64 },
    #[error("the server answers {status}")]
    Server { status: u16 },
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Whether it may go away by itself.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// One word for machines.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadSource { .. } | Self::Named { .. } => "BadSource",
            Self::Oci { .. } => "Unsupported",
            Self::BadRange { .. } => "BadVersion",
            Self::NotFound { .. } | Self::NoPath { .. } => "ChartNotFound",
            Self::DigestMismatch { .. } => "DigestMismatch",
            Self::Unauthorized { .. } => "Unauthorized",
            Self::Unreachable { .. } => "Unreachable",
            Self::Status { .. } | Self::Redirect { .. } | Self::TooLarge { .. } => "BadAnswer",
            Self::BadIndex { .. } => "BadIndex",
            Self::Tls { .. } => "BadCertificates",
            Self::Untrusted { .. } => "Untrusted",
            Self::BadChart { .. } => "BadChart",
            Self::Read { .. } | Self::Interrupted => "Unreadable",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Oci { .. } => "use an https:// Helm repository or a file:// folder",
            Self::DigestMismatch { .. } => {
                "the archive was exchanged or damaged; ask who runs the repository"
            }
            Self::Unauthorized { .. } => {
                "make a Repository whose secretRef has username and password, or token"
            }
            Self::Unreachable { .. } => {
                "is the address right, and is a proxy or a firewall in between?"
            }
            Self::Untrusted { .. } => {
                "if its authority is your own, put it as ca.crt into the Secret of the Repository"
            }
            Self::BadRange { .. } => "write it like \"1.2.3\", \"^1.2\" or \">=1.2, <2\"",
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// A URL without what may be secret in it.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Only URLs that cannot have a host refuse this, and they have no password either.
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
