//! Why a server cannot be reached. Errors contain neither credentials nor queries of URLs.

use std::error::Error as _;

use url::Url;

use crate::Retry;

/// Why a server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("no answer within {seconds} seconds")]
    NoAnswer { seconds: u64 },
    #[error("timed out")]
    Timeout,
    #[error("too many large downloads at the same time")]
    Busy,
    #[error("the connection was closed after {received} bytes")]
    ConnectionClosed { received: u64 },
    #[error("the server responded with status {status}")]
    Server { status: u16 },
    #[error("the server does not speak TLS")]
    NoTls,
    #[error("{0}")]
    Failed(String),
}

impl TransportError {
    fn from_request(error: &reqwest::Error, received: u64) -> Self {
        let reason = root_cause(error);
        if NOT_TLS.iter().any(|sign| reason.contains(sign)) {
            Self::NoTls
        } else if error.is_timeout() {
            Self::Timeout
        } else if error.is_body() || error.is_decode() || reason.contains("connection closed") {
            Self::ConnectionClosed { received }
        } else {
            Self::Failed(reason)
        }
    }
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("failed to reach {url}")]
    Unreachable {
        url: String,
        #[source]
        source: TransportError,
    },
    #[error("TLS verification of {url} failed: {reason}")]
    UntrustedCertificate { url: String, reason: String },
    #[error("the certificates for {url} are invalid")]
    InvalidCertificates {
        url: String,
        #[source]
        source: reqwest::Error,
    },
}

impl RequestError {
    /// Classifies the error of a request after a number of received bytes.
    pub fn new(error: &reqwest::Error, url: &Url, received: u64) -> Self {
        let reason = root_cause(error);
        if reason.contains("certificate") {
            let url = redact(url);
            return Self::UntrustedCertificate { url, reason };
        }
        Self::unreachable(url, TransportError::from_request(error, received))
    }

    pub fn unreachable(url: &Url, source: TransportError) -> Self {
        let url = redact(url);
        Self::Unreachable { url, source }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            // It would say the same again.
            Self::Unreachable { source, .. } => !matches!(source, TransportError::NoTls),
            Self::UntrustedCertificate { .. } | Self::InvalidCertificates { .. } => false,
        }
    }

    pub fn retry(&self) -> Retry {
        if self.is_transient() {
            Retry::After(None)
        } else {
            Retry::Never
        }
    }
}

/// The message of the root cause, which does not contain the URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = "the request failed".to_owned();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

/// What the TLS library says about an answer that is plain HTTP.
const NOT_TLS: [&str; 2] = ["InvalidContentType", "InvalidMessage"];

/// The URL without query, fragment and credentials, which may be secret.
pub fn redact(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for URLs without a host, which have no credentials.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.to_string()
}
