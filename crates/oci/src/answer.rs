//! Reads the bodies of small answers, within limits.

use outrigger_transport::{TransportError, redact};
use reqwest::Response;
use tokio::time::{Duration, timeout};
use url::Url;

use crate::client::{AttemptError, transport_error, unreachable};
use crate::error::Error;

/// The largest answer of a token service, and the largest error.
pub(crate) const MAX_ANSWER: u64 = 64 << 10;

/// How long the text of an error may take.
const ERROR_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an answer that nobody reads may take.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads a body within a limit and a time.
pub(crate) async fn read_limited(
    response: Response,
    url: &Url,
    limit: u64,
    time: Duration,
) -> Result<Vec<u8>, AttemptError> {
    let read = timeout(time, read_to_limit(response, url, limit)).await;
    read.unwrap_or_else(|_| Err(unreachable(url, TransportError::Timeout, None)))
}

async fn read_to_limit(
    mut response: Response,
    url: &Url,
    limit: u64,
) -> Result<Vec<u8>, AttemptError> {
    let too_large = || Error::TooLarge {
        url: redact(url),
        limit,
    };
    if response
        .content_length()
        .is_some_and(|length| length > limit)
    {
        return Err(too_large().into());
    }
    let mut bytes = Vec::new();
    loop {
        let received = bytes.len() as u64;
        let chunk = response
            .chunk()
            .await
            .map_err(|error| transport_error(&error, url, received))?;
        let Some(chunk) = chunk else {
            return Ok(bytes);
        };
        if received + chunk.len() as u64 > limit {
            return Err(too_large().into());
        }
        bytes.extend_from_slice(&chunk);
    }
}

/// Reads what is left of a small answer, because a connection with an unread body cannot be used again.
pub(crate) async fn discard(response: Response, url: &Url) {
    // If it is large or does not arrive, the connection is closed instead.
    let _ = read_limited(response, url, MAX_ANSWER, DISCARD_TIMEOUT).await;
}

/// The error of a response, with the message of the registry.
pub(crate) async fn status_error(response: Response, url: &Url) -> Error {
    let status = response.status().as_u16();
    let bytes = read_limited(response, url, MAX_ANSWER, ERROR_TIMEOUT)
        .await
        .unwrap_or_default();
    let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let first = &body["errors"][0];
    let code = first["code"].as_str().unwrap_or_default();
    let message = first["message"].as_str().unwrap_or_default();
    let message: String = format!("{code} {message}")
        .trim()
        .chars()
        .filter(|c| !c.is_control())
        .take(300)
        .collect();
    Error::Status {
        url: redact(url),
        status,
        message,
    }
}
