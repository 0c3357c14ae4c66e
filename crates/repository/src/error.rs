//! Why a chart cannot be fetched. Errors contain neither credentials nor queries of URLs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use outrigger_api::reason::Reason;
use outrigger_chart::load;
use outrigger_chart::load::archive::MAX_TOTAL;
use outrigger_oci::Error as OciError;
use outrigger_transport::{RedirectError, RequestError, TransportError};

use crate::local::{MAX_DEPTH, MAX_ENTRIES};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{url:?} is not a chart source: {reason}")]
    InvalidSource { url: String, reason: String },
    #[error("failed to fetch {url}")]
    Oci {
        url: String,
        #[source]
        source: Box<outrigger_oci::Error>,
    },
    #[error("{url}: git sources are not supported yet; its version would be a branch or a tag")]
    Git { url: String },
    #[error("the Repository {name:?} is not resolved")]
    UnresolvedName { name: String },
    #[error("{version:?} is not a version or version range: {reason}")]
    InvalidRange { version: String, reason: String },
    #[error(
        "{location} has no chart{}{}{}",
        Named(chart),
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
    #[error("{location} has chart {chart}, but none of its versions is a valid semantic version")]
    NoValidVersion { location: String, chart: String },
    #[error("{url} has digest {found}, but the index has {expected}")]
    DigestMismatch {
        url: String,
        expected: String,
        found: String,
    },
    #[error("{url} rejected the credentials (status {status})")]
    Unauthorized { url: String, status: u16 },
    #[error("{url} requires credentials (status {status})")]
    CredentialsRequired { url: String, status: u16 },
    #[error("credentials are not sent to {url} over plain HTTP")]
    PlainCredentials { url: String, host: String },
    #[error("failed to look up the credentials for {host}")]
    Docker {
        host: String,
        #[source]
        source: Box<outrigger_oci::Error>,
    },
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("{url} responded with status {status}")]
    UnexpectedStatus { url: String, status: u16 },
    #[error("{url} is larger than {limit} bytes")]
    TooLarge { url: String, limit: u64 },
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    #[error("the index of {url} is invalid{}: {reason}", AtLine(*line))]
    InvalidIndex {
        url: String,
        line: Option<usize>,
        reason: String,
    },
    #[error("{location} contains {found}, but the index has {expected}")]
    WrongChart {
        location: String,
        expected: String,
        found: String,
    },
    #[error("{} is not in a directory that plugins may use", path.display())]
    FileNotAllowed { path: PathBuf },
    #[error("the host of {url} is a loopback or link-local address, which plugins may not use")]
    AddressNotAllowed { url: String },
    #[error("{location} is not a valid chart")]
    InvalidChart {
        location: String,
        #[source]
        source: Box<load::Error>,
    },
    #[error("{path} does not exist", path = path.display())]
    Missing { path: PathBuf },
    #[error("{location} has no directory {path}")]
    PathNotFound { location: String, path: String },
    #[error("{location} has {limit}")]
    Limit { location: String, limit: Limit },
    /// The error of a request that several callers waited for.
    #[error(transparent)]
    Shared(Arc<Self>),
    #[error("the task that loads the chart was canceled")]
    Canceled,
    #[error("failed to read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Where a source is configured. Its credentials and certificate authorities belong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The URL in a Plugin
    Url,
    /// A Repository, which may have a Secret
    Repository,
    /// A mirror of the command line
    Mirror,
}

impl Origin {
    /// What to do if a server requires credentials, or rejects those that it got.
    fn credentials(self) -> &'static str {
        match self {
            Self::Url => {
                "create a Repository with a secretRef to a Secret with username and password, or token, and set spec.repo to its name instead of a URL"
            }
            Self::Repository => {
                "check the Secret that spec.secretRef of the Repository names: it needs valid username and password, or token"
            }
            Self::Mirror => {
                "pass the credentials of mirrors to outrigger up or serve with --authfile, in the format of Docker's config.json"
            }
        }
    }

    /// What to do if the certificate of a server is not trusted.
    fn authorities(self) -> &'static str {
        match self {
            Self::Url => {
                "for a private certificate authority, create a Repository with a secretRef to a Secret with ca.crt, and set spec.repo to its name instead of a URL"
            }
            Self::Repository => {
                "check ca.crt in the Secret that spec.secretRef of the Repository names: it has private certificate authorities"
            }
            Self::Mirror => {
                "pass the certificate authorities of mirrors to outrigger up or serve with --ca-file"
            }
        }
    }
}

const ALLOW_LOCAL: &str = "outrigger serve --allow-local-addresses allows servers on its node";

/// A limit of local directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    #[error("more than {MAX_ENTRIES} files and directories")]
    Entries,
    #[error("directories that are nested more than {MAX_DEPTH} levels deep")]
    Depth,
    #[error("manifests of more than {MAX_TOTAL} bytes in total")]
    Bytes,
}

impl Error {
    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Request(error) => error.is_transient(),
            Self::Oci { source, .. } => source.is_transient(),
            Self::Shared(error) => error.is_transient(),
            _ => false,
        }
    }

    /// A machine-readable reason in CamelCase, for conditions.
    pub fn reason(&self) -> Reason {
        match self {
            Self::InvalidSource { .. } | Self::UnresolvedName { .. } => Reason::InvalidSource,
            Self::Git { .. } => Reason::Unsupported,
            Self::Oci { source, .. } => oci_reason(source),
            Self::InvalidRange { .. } => Reason::InvalidVersion,
            Self::NotFound { .. }
            | Self::NoValidVersion { .. }
            | Self::PathNotFound { .. }
            | Self::Missing { .. } => Reason::ChartNotFound,
            Self::DigestMismatch { .. } => Reason::DigestMismatch,
            Self::WrongChart { .. } => Reason::WrongChart,
            Self::FileNotAllowed { .. } | Self::AddressNotAllowed { .. } => {
                Reason::SourceNotAllowed
            }
            Self::Unauthorized { .. }
            | Self::CredentialsRequired { .. }
            | Self::PlainCredentials { .. }
            | Self::Docker { .. } => Reason::Unauthorized,
            Self::Request(error) => request_reason(error),
            Self::UnexpectedStatus { .. } | Self::Redirect(_) | Self::TooLarge { .. } => {
                Reason::UnexpectedResponse
            }
            Self::InvalidIndex { .. } => Reason::InvalidIndex,
            Self::InvalidChart { .. } => Reason::InvalidChart,
            Self::Limit { .. } => Reason::TooLarge,
            Self::Read { .. } | Self::Canceled => Reason::Unreadable,
            Self::Shared(error) => error.reason(),
        }
    }

    /// The error itself, also if several callers share it.
    pub fn cause(&self) -> &Self {
        match self {
            Self::Shared(error) => error.cause(),
            error => error,
        }
    }

    /// Advice for those who write a Plugin with a URL. That for a command line depends on its flags.
    pub fn hint(&self) -> Option<String> {
        self.hint_at(Origin::Url)
    }

    /// Advice for those who configure the source.
    pub fn hint_at(&self, origin: Origin) -> Option<String> {
        let text = match self {
            Self::Oci { source, .. } => match source.cause() {
                OciError::LocalRedirect { .. } => ALLOW_LOCAL,
                OciError::Request(error) => return request_hint(error, origin),
                OciError::Unauthorized { .. } | OciError::CredentialsRequired { .. } => {
                    origin.credentials()
                }
                cause => return cause.hint(),
            },
            Self::Docker { source, .. } => return source.hint(),
            Self::PlainCredentials { host, .. } => {
                return Some(format!(
                    "use https://, or allow it with --plain-http {host}"
                ));
            }
            Self::Git { .. } => "use an https:// Helm repository or a file:// directory",
            Self::DigestMismatch { .. } => {
                "the archive was replaced or is corrupt; contact the owner of the repository"
            }
            Self::WrongChart { .. } => "the repository is inconsistent; contact its owner",
            Self::FileNotAllowed { .. } => {
                "outrigger serve --allow-files DIR allows the charts in a directory"
            }
            Self::AddressNotAllowed { .. } => ALLOW_LOCAL,
            Self::Unauthorized { .. } | Self::CredentialsRequired { .. } => origin.credentials(),
            Self::Request(error) => return request_hint(error, origin),
            Self::InvalidRange { .. } => {
                "use a version such as \"1.2.3\", or a range such as \"^1.2\" or \">=1.2, <2\""
            }
            Self::UnexpectedStatus { status: 404, .. } => {
                "check the URL; below that of a repository there is an index.yaml"
            }
            Self::InvalidIndex { .. } => "check whether it is the URL of a chart repository",
            Self::Shared(error) => return error.hint_at(origin),
            _ => return None,
        };
        Some(text.to_owned())
    }
}

fn request_hint(error: &RequestError, origin: Origin) -> Option<String> {
    if let Some(hint) = error.tls_hint() {
        return Some(hint.to_owned());
    }
    let text = match error {
        RequestError::Unreachable { source, .. } => match source {
            TransportError::ClientCertificate { .. } => {
                "create a Repository with a secretRef to a Secret with tls.crt and tls.key, a client certificate that the server trusts"
            }
            TransportError::NoTls => "use http://, or --plain-http for an oci:// registry",
            TransportError::OnlyTls => "use https://, or leave out --plain-http for this server",
            _ => "check the URL, and whether a proxy or a firewall blocks it",
        },
        RequestError::UntrustedCertificate { .. } => origin.authorities(),
        RequestError::KeyMismatch { .. } => {
            "tls.crt and tls.key of the Secret have to be of one pair"
        }
        RequestError::InvalidCertificates { .. } => return None,
    };
    Some(text.to_owned())
}

fn request_reason(error: &RequestError) -> Reason {
    match error {
        RequestError::Unreachable { .. } => Reason::Unreachable,
        RequestError::UntrustedCertificate { .. } => Reason::UntrustedCertificate,
        RequestError::KeyMismatch { .. } | RequestError::InvalidCertificates { .. } => {
            Reason::InvalidCertificates
        }
    }
}

fn oci_reason(error: &OciError) -> Reason {
    use OciError as Oci;
    match error.cause() {
        Oci::Request(error) => request_reason(error),
        Oci::Unauthorized { .. } | Oci::CredentialsRequired { .. } | Oci::ForeignRealm { .. } => {
            Reason::Unauthorized
        }
        Oci::DigestMismatch { .. } | Oci::SizeMismatch { .. } => Reason::DigestMismatch,
        Oci::LocalRedirect { .. } => Reason::SourceNotAllowed,
        Oci::NotFound { .. } => Reason::ChartNotFound,
        _ => Reason::UnexpectedResponse,
    }
}

/// The name of a chart, which an `oci://` URL contains already.
struct Named<'a>(&'a str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            name => write!(f, " {name}"),
        }
    }
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
