//! Why a server cannot be reached. Errors contain neither credentials nor queries of URLs.

use std::error::Error as _;

use url::Url;

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
    #[error("{0}")]
    Failed(String),
}

impl TransportError {
    /// Classifies the error of a request after a number of received bytes.
    pub fn from_request(error: &reqwest::Error, received: u64) -> Self {
        let reason = root_cause(error);
        if error.is_timeout() {
            Self::Timeout
        } else if error.is_body() || error.is_decode() || reason.contains("connection closed") {
            Self::ConnectionClosed { received }
        } else {
            Self::Failed(reason)
        }
    }
}

/// Whether the certificate of the server is not trusted.
pub fn is_certificate_error(error: &reqwest::Error) -> bool {
    root_cause(error).contains("certificate")
}

/// The message of the root cause, which does not contain the URL.
pub fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = "the request failed".to_owned();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

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
