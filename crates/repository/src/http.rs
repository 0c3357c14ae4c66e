//! GET requests with credentials, redirects, retries and size limits.

use std::error::Error as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{
    AUTHORIZATION, ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION, RETRY_AFTER,
};
use reqwest::{Certificate, Client, Identity, Response, StatusCode, redirect};
use url::Url;

use crate::access::{Access, Credentials, Tls};
use crate::cache::CacheEntry;
use crate::digest::Hasher;
use crate::error::{TransportError, redact};
use crate::redirect::{MAX_REDIRECTS, follow, is_same_origin};
use crate::retry::{Backoff, is_transient};
use crate::{Error, digest};

#[derive(Debug, Clone)]
pub(crate) struct ClientConfig {
    pub(crate) backoff: Backoff,
    pub(crate) connect_timeout: Duration,
    pub(crate) read_timeout: Duration,
    /// For the whole request, so that a server cannot send forever
    pub(crate) timeout: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct GetRequest<'a> {
    pub(crate) url: &'a Url,
    /// Credentials are sent only to the origin of this URL
    pub(crate) repository: &'a Url,
    pub(crate) access: &'a Access,
    pub(crate) max_bytes: u64,
}

#[derive(Debug)]
pub(crate) enum GetResponse {
    NotModified,
    Body { bytes: Vec<u8>, entry: CacheEntry },
}

/// One client per set of certificates, shared by all requests.
#[derive(Debug)]
pub(crate) struct Http {
    config: ClientConfig,
    clients: Mutex<Vec<(Tls, Client)>>,
}

const MAX_CLIENTS: usize = 32;

struct AttemptError {
    error: Error,
    retry: Retry,
}

enum Retry {
    Never,
    /// After the backoff, or after the `Retry-After` of the server.
    After(Option<Duration>),
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        Self {
            error,
            retry: Retry::Never,
        }
    }
}

impl Http {
    pub(crate) fn new(config: ClientConfig) -> Self {
        Self {
            config,
            clients: Mutex::default(),
        }
    }

    /// Sends the request, and retries it with backoff. With a cached response the request is conditional.
    pub(crate) async fn get(
        &self,
        request: GetRequest<'_>,
        cached: Option<&CacheEntry>,
    ) -> Result<GetResponse, Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let failure = match self.attempt(request, cached).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            let delay = match failure.retry {
                Retry::Never => None,
                Retry::After(minimum) => self.config.backoff.delay(attempts, minimum),
            };
            let Some(delay) = delay else {
                return Err(failure.error);
            };
            tracing::debug!("{}; retrying in {delay:?}", failure.error);
            tokio::time::sleep(delay).await;
        }
    }

    async fn attempt(
        &self,
        request: GetRequest<'_>,
        cached: Option<&CacheEntry>,
    ) -> Result<GetResponse, AttemptError> {
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(request, cached, &url).await?;
            let status = response.status();
            if status == StatusCode::NOT_MODIFIED {
                return Ok(GetResponse::NotModified);
            }
            if status.is_redirection() {
                url = follow(&url, header(response.headers(), LOCATION).as_deref())?;
                continue;
            }
            check_status(&response, &url)?;
            return read_body(response, &url, request.max_bytes).await;
        }
        Err(Error::Redirect {
            url: redact(request.url),
            reason: format!("more than {MAX_REDIRECTS} times"),
        }
        .into())
    }

    async fn send(
        &self,
        request: GetRequest<'_>,
        cached: Option<&CacheEntry>,
        url: &Url,
    ) -> Result<Response, AttemptError> {
        let is_same_origin = is_same_origin(url, request.repository);
        let access = request.access;
        let tls = Tls {
            ca: access.tls.ca.clone(),
            client: access.tls.client.clone().filter(|_| is_same_origin),
        };
        let mut builder = self.client(tls, url)?.get(url.clone());
        match access.credentials.as_ref().filter(|_| is_same_origin) {
            None => {}
            Some(Credentials::Basic { username, password }) => {
                builder = builder.basic_auth(username, Some(password.reveal()));
            }
            Some(Credentials::Bearer(token)) => {
                builder = builder.header(AUTHORIZATION, format!("Bearer {}", token.reveal()));
            }
        }
        if let Some(etag) = cached.and_then(|entry| entry.etag.as_ref()) {
            builder = builder.header(IF_NONE_MATCH, etag);
        }
        if let Some(time) = cached.and_then(|entry| entry.last_modified.as_ref()) {
            builder = builder.header(IF_MODIFIED_SINCE, time);
        }
        builder
            .send()
            .await
            .map_err(|error| transport_error(&error, url, 0))
    }

    /// The client for a set of certificates, created on first use.
    fn client(&self, tls: Tls, url: &Url) -> Result<Client, Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(other, _)| *other == tls) {
            return Ok(client.clone());
        }
        let client = self
            .build(&tls)
            .map_err(|source| Error::InvalidCertificates {
                url: redact(url),
                source,
            })?;
        if clients.len() == MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push((tls, client.clone()));
        Ok(client)
    }

    fn build(&self, tls: &Tls) -> reqwest::Result<Client> {
        let mut builder = Client::builder()
            .user_agent(concat!("outrigger/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(self.config.connect_timeout)
            .read_timeout(self.config.read_timeout)
            .timeout(self.config.timeout);
        if let Some(ca) = &tls.ca {
            builder = builder.tls_certs_merge(Certificate::from_pem_bundle(ca)?);
        }
        if let Some((certificate, key)) = &tls.client {
            let pem = [certificate, b"\n".as_slice(), key.reveal().as_bytes()].concat();
            builder = builder.identity(Identity::from_pem(&pem)?);
        }
        builder.build()
    }
}

fn check_status(response: &Response, url: &Url) -> Result<(), AttemptError> {
    let status = response.status().as_u16();
    let url = redact(url);
    match status {
        200..=299 => Ok(()),
        401 | 403 => Err(Error::Unauthorized { url, status }.into()),
        status if is_transient(status) => {
            let seconds = header(response.headers(), RETRY_AFTER);
            let seconds = seconds.and_then(|seconds| seconds.parse().ok());
            Err(AttemptError {
                error: Error::Unreachable {
                    url,
                    source: TransportError::Server { status },
                },
                retry: Retry::After(seconds.map(Duration::from_secs)),
            })
        }
        status => Err(Error::UnexpectedStatus { url, status }.into()),
    }
}

/// Reads the body and computes its digest, chunk by chunk.
async fn read_body(
    mut response: Response,
    url: &Url,
    max_bytes: u64,
) -> Result<GetResponse, AttemptError> {
    let too_large = || Error::TooLarge {
        url: redact(url),
        limit: max_bytes,
    };
    let length = response.content_length().unwrap_or_default();
    if length > max_bytes {
        return Err(too_large().into());
    }
    let etag = header(response.headers(), ETAG);
    let last_modified = header(response.headers(), LAST_MODIFIED);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    let mut hasher = Hasher::default();
    loop {
        let received = bytes.len() as u64;
        let chunk = response.chunk().await;
        let Some(chunk) = chunk.map_err(|error| transport_error(&error, url, received))? else {
            break;
        };
        if received + chunk.len() as u64 > max_bytes {
            return Err(too_large().into());
        }
        hasher.add(&chunk);
        bytes.extend_from_slice(&chunk);
    }
    let entry = CacheEntry {
        digest: hasher.finish(),
        etag,
        last_modified,
    };
    Ok(GetResponse::Body { bytes, entry })
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

fn transport_error(error: &reqwest::Error, url: &Url, received: u64) -> AttemptError {
    let reason = root_cause(error);
    let url = redact(url);
    if reason.contains("certificate") {
        return Error::UntrustedCertificate { url, reason }.into();
    }
    let source = if error.is_timeout() {
        TransportError::Timeout
    } else if error.is_body() || error.is_decode() || reason.contains("connection closed") {
        TransportError::ConnectionClosed { received }
    } else {
        TransportError::Failed(reason)
    };
    AttemptError {
        error: Error::Unreachable { url, source },
        retry: Retry::After(None),
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

/// The key of a URL in the cache. It includes the credentials, so that cached files are not shared between users.
pub(crate) fn cache_key(url: &Url, access: &Access) -> String {
    digest::of_parts(&[url.as_str().as_bytes(), access.fingerprint().as_bytes()])
}
