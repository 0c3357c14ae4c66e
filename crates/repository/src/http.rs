//! GET requests with credentials, redirects, retries and size limits.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use outrigger_transport::{
    Backoff, ClientOptions, Credentials, MAX_REDIRECTS, RedirectError, RequestError, Retry, Tls,
    TransportError, follow, is_same_origin, is_transient, redact, retry_after,
};
use reqwest::header::{
    AUTHORIZATION, ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION,
};
use reqwest::{Client, Response, StatusCode};
use url::Url;

use crate::access::Access;
use crate::cache::CacheEntry;
use crate::digest::Hasher;
use crate::limits::{BodyBytes, Limits};
use crate::rules::Rules;
use crate::wait::WaitObserver;
use crate::{Error, digest};

#[derive(Debug, Clone)]
pub(crate) struct ClientConfig {
    pub(crate) backoff: Backoff,
    pub(crate) connect_timeout: Duration,
    /// From the request to the header of the response
    pub(crate) first_byte_timeout: Duration,
    /// Between two reads of the body
    pub(crate) read_timeout: Duration,
    /// For the whole request, so that a server cannot send forever
    pub(crate) timeout: Duration,
    pub(crate) rules: Rules,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct GetRequest<'a> {
    pub(crate) url: &'a Url,
    /// Credentials are sent only to the origin of this URL
    pub(crate) repository: &'a Url,
    pub(crate) access: &'a Access,
    pub(crate) observer: &'a WaitObserver,
    pub(crate) max_bytes: u64,
}

#[derive(Debug)]
pub(crate) enum GetResponse {
    NotModified,
    Body {
        bytes: Vec<u8>,
        entry: CacheEntry,
        /// Counts the bytes until it is dropped.
        counted: BodyBytes,
    },
}

/// One client per set of certificates, shared by all requests.
#[derive(Debug)]
pub(crate) struct Http {
    config: ClientConfig,
    clients: Mutex<Vec<(Tls, Client)>>,
    pub(crate) limits: Limits,
}

const MAX_CLIENTS: usize = 32;

/// The largest buffer that is allocated because a server announces the length of a body.
const MAX_RESERVED: u64 = 1 << 20;

struct AttemptError {
    error: Error,
    retry: Retry,
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
            limits: Limits::default(),
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
            let start = Instant::now();
            let failure = match self.attempt(request, cached).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            let delay = self.config.backoff.delay_for(attempts, failure.retry);
            // Another attempt would not be faster.
            let delay = delay.filter(|_| start.elapsed() < self.config.timeout);
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
            let _permit = self.limits.acquire(&url, request.observer).await;
            let response = self.send(request, cached, &url).await?;
            let status = response.status();
            if status == StatusCode::NOT_MODIFIED {
                return Ok(GetResponse::NotModified);
            }
            if status.is_redirection() {
                url = follow(&url, header(response.headers(), LOCATION).as_deref())
                    .map_err(Error::from)?;
                continue;
            }
            let has_sent =
                request.access.credentials.is_some() && is_same_origin(&url, request.repository);
            check_status(&response, &url, has_sent)?;
            return read_body(response, &url, request.max_bytes, self.limits.body()).await;
        }
        Err(Error::from(RedirectError {
            url: redact(request.url),
            reason: format!("more than {MAX_REDIRECTS} times"),
        })
        .into())
    }

    async fn send(
        &self,
        request: GetRequest<'_>,
        cached: Option<&CacheEntry>,
        url: &Url,
    ) -> Result<Response, AttemptError> {
        self.config.rules.check_url(url)?;
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
        let limit = self.config.first_byte_timeout;
        match tokio::time::timeout(limit, builder.send()).await {
            Ok(response) => response.map_err(|error| transport_error(&error, url, 0)),
            Err(_) => Err(unreachable(
                url,
                TransportError::NoAnswer {
                    seconds: limit.as_secs(),
                },
            )),
        }
    }

    /// The client for a set of certificates, created on first use.
    fn client(&self, tls: Tls, url: &Url) -> Result<Client, Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(other, _)| *other == tls) {
            return Ok(client.clone());
        }
        let client = self
            .build(&tls)
            .map_err(|source| RequestError::invalid_certificates(redact(url), source))?;
        if clients.len() == MAX_CLIENTS {
            clients.remove(0);
        }
        clients.push((tls, client.clone()));
        Ok(client)
    }

    fn build(&self, tls: &Tls) -> reqwest::Result<Client> {
        let options = ClientOptions {
            connect_timeout: self.config.connect_timeout,
            read_timeout: self.config.read_timeout,
            timeout: Some(self.config.timeout),
            refuse_local_addresses: self.config.rules.refuse_local_addresses,
            http1_only: false,
        };
        options.build(tls)
    }
}

fn check_status(response: &Response, url: &Url, has_sent: bool) -> Result<(), AttemptError> {
    let status = response.status().as_u16();
    let url = redact(url);
    match status {
        // Others, such as 206, announce something else than the whole file.
        200 | 203 => Ok(()),
        401 | 403 if has_sent => Err(Error::Unauthorized { url, status }.into()),
        401 | 403 => Err(Error::CredentialsRequired { url, status }.into()),
        status if is_transient(status) => Err(AttemptError {
            error: RequestError::Unreachable {
                url,
                source: TransportError::Server { status },
            }
            .into(),
            retry: Retry::After(retry_after(response.headers())),
        }),
        status => Err(Error::UnexpectedStatus { url, status }.into()),
    }
}

/// Reads the body and computes its digest, chunk by chunk.
async fn read_body(
    mut response: Response,
    url: &Url,
    max_bytes: u64,
    mut counted: BodyBytes,
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
    // The length is only a claim; the buffer grows with what is received.
    let length = length.min(MAX_RESERVED);
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
        if !counted.add(chunk.len() as u64) {
            return Err(unreachable(url, TransportError::Busy));
        }
        hasher.add(&chunk);
        bytes.extend_from_slice(&chunk);
    }
    let entry = CacheEntry {
        digest: hasher.finish(),
        etag,
        last_modified,
    };
    Ok(GetResponse::Body {
        bytes,
        entry,
        counted,
    })
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

fn transport_error(error: &reqwest::Error, url: &Url, received: u64) -> AttemptError {
    let error = RequestError::new(error, url, received);
    AttemptError {
        retry: error.retry(),
        error: error.into(),
    }
}

fn unreachable(url: &Url, source: TransportError) -> AttemptError {
    AttemptError {
        error: RequestError::unreachable(url, source).into(),
        retry: Retry::After(None),
    }
}

/// The key of a URL in the cache. It includes the credentials, so that cached files are not shared between users.
pub(crate) fn cache_key(url: &Url, access: &Access) -> String {
    digest::of_parts(&[url.as_str().as_bytes(), access.fingerprint().as_bytes()])
}
