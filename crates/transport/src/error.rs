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
    #[error("the server speaks TLS, not plain HTTP")]
    OnlyTls,
    #[error(
        "the server does not accept the client without a client certificate that it trusts ({alert})"
    )]
    ClientCertificate { alert: &'static str },
    #[error("{0}")]
    Failed(String),
}

impl TransportError {
    fn from_request(error: &reqwest::Error, received: u64) -> Self {
        let reason = root_cause(error);
        if NOT_TLS.iter().any(|sign| reason.contains(sign)) {
            Self::NoTls
        } else if reason.contains(NOT_HTTP) {
            Self::OnlyTls
        } else if let Some(alert) = client_certificate_alert(&reason) {
            Self::ClientCertificate { alert }
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
    #[error("the client certificate for {url} does not belong to its key")]
    KeyMismatch { url: String },
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

    /// Classifies the error of a client that was built with certificates for a URL or a host.
    pub fn invalid_certificates(url: String, source: reqwest::Error) -> Self {
        if root_cause(&source).contains("KeyMismatch") {
            Self::KeyMismatch { url }
        } else {
            Self::InvalidCertificates { url, source }
        }
    }

    /// Advice that does not depend on where certificates are configured.
    pub fn tls_hint(&self) -> Option<&'static str> {
        match self {
            Self::UntrustedCertificate { reason, .. } if reason.contains("not valid for name") => {
                Some("use a name that the certificate has, or a certificate that has this name")
            }
            Self::UntrustedCertificate { reason, .. } if reason.contains("expired") => {
                Some("renew the certificate of the server, or check the clock of this machine")
            }
            _ => None,
        }
    }

    pub fn unreachable(url: &Url, source: TransportError) -> Self {
        let url = redact(url);
        Self::Unreachable { url, source }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            // It would say the same again.
            Self::Unreachable { source, .. } => !matches!(
                source,
                TransportError::NoTls
                    | TransportError::OnlyTls
                    | TransportError::ClientCertificate { .. }
            ),
            Self::UntrustedCertificate { .. }
            | Self::KeyMismatch { .. }
            | Self::InvalidCertificates { .. } => false,
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

/// What the HTTP library says about an answer that is TLS.
const NOT_HTTP: &str = "invalid HTTP version";

/// Alerts of servers that require another client certificate, or one at all.
const CLIENT_CERTIFICATE: [&str; 7] = [
    "BadCertificate",
    "CertificateRequired",
    "CertificateExpired",
    "CertificateRevoked",
    "CertificateUnknown",
    "UnsupportedCertificate",
    "UnknownCA",
];

fn client_certificate_alert(reason: &str) -> Option<&'static str> {
    let (_, alert) = reason.split_once("received fatal alert: ")?;
    CLIENT_CERTIFICATE.into_iter().find(|known| *known == alert)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_requires_a_client_certificate_is_recognized_by_its_alert() {
        for (reason, alert) in [
            (
                "received fatal alert: BadCertificate",
                Some("BadCertificate"),
            ),
            ("received fatal alert: UnknownCA", Some("UnknownCA")),
            ("received fatal alert: ProtocolVersion", None),
            ("BadCertificate", None),
        ] {
            assert_eq!(client_certificate_alert(reason), alert, "{reason}");
        }
    }

    #[test]
    fn a_certificate_with_another_name_is_not_a_matter_of_trust() {
        let hint = |reason: &str| {
            let (url, reason) = ("https://r.local/".to_owned(), reason.to_owned());
            RequestError::UntrustedCertificate { url, reason }.tls_hint()
        };
        let other_name = "invalid peer certificate: certificate not valid for name \"r.local\"; certificate is only valid for DnsName(\"x\")";
        assert!(hint(other_name).unwrap().contains("use a name"));
        let expired = "invalid peer certificate: certificate expired: verification time 1 (UNIX)";
        assert!(hint(expired).unwrap().contains("renew"));
        assert_eq!(hint("invalid peer certificate: UnknownIssuer"), None);
    }
}
