//! Sends requests to registries: redirects and retries. What they mean is in `registry.rs`, and how they are authorized in
//! `authorize.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use outrigger_transport::{
    ClientOptions, MAX_REDIRECTS, RedirectError, RequestError, Retry, Tls, TransportError, follow,
    is_local_url, is_same_origin, is_transient, redact, retry_after,
};
use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};
use tokio::time::{Duration, Instant, timeout};
use url::Url;

use crate::answer::discard;
use crate::auth::{AuthCache, Scope};
use crate::buffers::Buffers;
use crate::error::Error;
use crate::options::Options;
use crate::reference::{DOCKER_HUB, Repository};

/// A client of all registries. Clones share connections and tokens.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    clients: Mutex<HashMap<(Tls, bool), reqwest::Client>>,
    pub(crate) auth: AuthCache,
    pub(crate) buffers: Buffers,
}

/// A request to a registry that can be repeated.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) repository: &'a Repository,
    pub(crate) url: Url,
    pub(crate) scope: Scope,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) struct AttemptError {
    pub(crate) error: Error,
    pub(crate) retry: Retry,
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        Self {
            error,
            retry: Retry::Never,
        }
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(method: Method, repository: &'a Repository, url: Url, scope: Scope) -> Self {
        Self {
            method,
            repository,
            url,
            scope,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn header(mut self, name: reqwest::header::HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }
}

impl Client {
    pub fn new(options: Options) -> Self {
        Self {
            shared: Arc::new(Shared {
                buffers: Buffers::new(options.buffered_bytes),
                options,
                clients: Mutex::default(),
                auth: AuthCache::default(),
            }),
        }
    }

    /// The URL of a registry with a path below `/v2/`.
    pub(crate) fn url(&self, registry: &str, path: &str) -> Result<Url, Error> {
        let is_plain = self.shared.options.plain_http.contains(registry);
        let scheme = if is_plain { "http" } else { "https" };
        let host = if registry == DOCKER_HUB {
            "registry-1.docker.io"
        } else {
            registry
        };
        let text = format!("{scheme}://{host}/v2/{path}");
        Url::parse(&text).map_err(|error| Error::InvalidAnswer {
            url: text,
            reason: error.to_string(),
        })
    }

    /// Sends a request, and repeats it with backoff if that may help.
    pub(crate) async fn execute(&self, call: &Call<'_>) -> Result<Response, Error> {
        let mut attempts = 0;
        let started = Instant::now();
        loop {
            attempts += 1;
            let failure = match self.attempt(call, None).await {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            let backoff = &self.shared.options.backoff;
            let is_patient = started.elapsed() < self.shared.options.patience;
            let delay = backoff.delay_for(attempts, failure.retry);
            let Some(delay) = delay.filter(|_| is_patient) else {
                return Err(failure.error);
            };
            tracing::debug!("{}; retrying in {delay:?}", failure.error);
            tokio::time::sleep(delay).await;
        }
    }

    /// Sends a request once, and once more with a token if the registry asks for one. A streamed body cannot be sent
    /// again, so a registry that asks for a token then is an error that can be retried.
    pub(crate) async fn attempt(
        &self,
        call: &Call<'_>,
        stream: Option<Body>,
    ) -> Result<Response, AttemptError> {
        let has_stream = stream.is_some();
        let registry = call.repository.registry();
        let response = self.send(call, stream).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return check_transient(response, &call.url);
        }
        self.shared.auth.forget_token(registry, &call.scope);
        self.answer_challenge(call, &response).await?;
        discard(response, &call.url).await;
        if has_stream {
            return Err(unauthorized(call, 401, Retry::After(None)));
        }
        let response = self.send(call, None).await?;
        match response.status().as_u16() {
            status @ (401 | 403) => Err(unauthorized(call, status, Retry::Never)),
            _ => check_transient(response, &call.url),
        }
    }

    async fn send(
        &self,
        call: &Call<'_>,
        mut stream: Option<Body>,
    ) -> Result<Response, AttemptError> {
        let options = &self.shared.options;
        let mut url = call.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let is_own = is_same_origin(&url, &call.url);
            if options.refuse_local_addresses && is_local_url(&url) {
                let (url, target) = (redact(&call.url), redact(&url));
                return Err(Error::LocalRedirect { url, target }.into());
            }
            let client = self.http(call.repository.registry(), !is_own)?;
            let mut request = client
                .request(call.method.clone(), url.clone())
                .headers(call.headers.clone());
            if is_own {
                request = self.authorize(request, call).await?;
            }
            let has_stream = stream.is_some();
            request = match stream.take() {
                Some(body) => request.body(body),
                None if call.method == Method::GET || call.method == Method::HEAD => request,
                None => request.body(call.body.clone()),
            };
            let response = self.wait(request, &url, has_stream).await?;
            let is_read = call.method == Method::GET || call.method == Method::HEAD;
            if !response.status().is_redirection() || !is_read {
                return Ok(response);
            }
            let location = response
                .headers()
                .get(LOCATION)
                .and_then(|value| value.to_str().ok());
            let target = follow(&url, location).map_err(Error::from)?;
            let is_allowed = options.allow_local_redirects || is_same_host(&target, &call.url);
            if !is_allowed && is_local_url(&target) {
                let (url, target) = (redact(&call.url), redact(&target));
                return Err(Error::LocalRedirect { url, target }.into());
            }
            url = target;
        }
        Err(Error::from(RedirectError {
            url: redact(&call.url),
            reason: format!("more than {MAX_REDIRECTS} times"),
        })
        .into())
    }

    /// Waits for the header of the response. A streamed body has its own deadlines.
    pub(crate) async fn wait(
        &self,
        request: RequestBuilder,
        url: &Url,
        has_stream: bool,
    ) -> Result<Response, AttemptError> {
        let limit = self.shared.options.first_byte_timeout;
        let result = if has_stream {
            request.send().await
        } else {
            let Ok(result) = timeout(limit, request.send()).await else {
                let seconds = limit.as_secs();
                return Err(unreachable(url, TransportError::NoAnswer { seconds }, None));
            };
            result
        };
        result.map_err(|error| transport_error(&error, url, 0))
    }

    /// The client for a registry. Redirects to other servers get neither its client certificate nor local addresses.
    pub(crate) fn http(&self, registry: &str, is_foreign: bool) -> Result<reqwest::Client, Error> {
        let options = &self.shared.options;
        let mut tls = options.tls_of(registry);
        if is_foreign {
            tls.client = None;
        }
        let key = (tls, is_foreign);
        let mut clients = self
            .shared
            .clients
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let built = ClientOptions {
            connect_timeout: options.connect_timeout,
            read_timeout: options.read_timeout,
            timeout: None,
            refuse_local_addresses: options.refuse_local_addresses
                || (is_foreign && !options.allow_local_redirects),
            http1_only: true,
        };
        let url = registry.to_owned();
        let invalid = |source| RequestError::invalid_certificates(url, source);
        let client = built.build(&key.0).map_err(invalid)?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

pub(crate) fn is_same_host(a: &Url, b: &Url) -> bool {
    a.host() == b.host()
}

pub(crate) fn check_transient(response: Response, url: &Url) -> Result<Response, AttemptError> {
    let status = response.status().as_u16();
    if is_transient(status) {
        let wait = retry_after(response.headers());
        return Err(unreachable(url, TransportError::Server { status }, wait));
    }
    Ok(response)
}

pub(crate) fn transport_error(error: &reqwest::Error, url: &Url, received: u64) -> AttemptError {
    let error = RequestError::new(error, url, received);
    AttemptError {
        retry: error.retry(),
        error: error.into(),
    }
}

pub(crate) fn unreachable(
    url: &Url,
    source: TransportError,
    wait: Option<Duration>,
) -> AttemptError {
    AttemptError {
        error: RequestError::unreachable(url, source).into(),
        retry: Retry::After(wait),
    }
}

pub(crate) fn unauthorized(call: &Call<'_>, status: u16, retry: Retry) -> AttemptError {
    AttemptError {
        error: Error::Unauthorized {
            registry: call.repository.registry().to_owned(),
            repository: call.repository.path().to_owned(),
            status,
        },
        retry,
    }
}
