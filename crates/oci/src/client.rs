//! Sends requests to registries: authentication, redirects and retries. What they mean is in `registry.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use outrigger_transport::{
    ClientOptions, Credentials, MAX_REDIRECTS, RedirectError, RequestError, Retry, Secret, Tls,
    TransportError, follow, is_local_url, is_same_origin, is_transient, redact, retry_after,
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};
use tokio::time::{Duration, Instant, timeout};
use url::Url;

use crate::auth::{AuthCache, Challenge, LookedUp, Scope, Token, is_own_realm, parse_challenges};
use crate::docker_config::IDENTITY_TOKEN;
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
    auth: AuthCache,
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

/// The largest answer of a token service, and the largest error.
const MAX_ANSWER: u64 = 64 << 10;

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
    async fn wait(
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
    fn http(&self, registry: &str, is_foreign: bool) -> Result<reqwest::Client, Error> {
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
        let invalid = |source| RequestError::InvalidCertificates { url, source };
        let client = built.build(&key.0).map_err(invalid)?;
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// Adds the credentials that the registry asked for before.
    async fn authorize(
        &self,
        request: RequestBuilder,
        call: &Call<'_>,
    ) -> Result<RequestBuilder, AttemptError> {
        let registry = call.repository.registry();
        match self.shared.auth.challenge(registry) {
            None => Ok(request),
            Some(Challenge::Basic) => Ok(match self.credentials(registry).await? {
                Some(credentials) => with_credentials(request, &credentials),
                None => request,
            }),
            Some(Challenge::Bearer { realm, service }) => {
                if let Some(token) = self.shared.auth.token(registry, &call.scope) {
                    return Ok(bearer(request, &token));
                }
                let token = self.fetch_token(call, &realm, service.as_deref()).await?;
                Ok(bearer(request, &token))
            }
        }
    }

    /// Learns how a registry authenticates from the answer to a request without credentials.
    async fn answer_challenge(
        &self,
        call: &Call<'_>,
        response: &Response,
    ) -> Result<(), AttemptError> {
        let registry = call.repository.registry();
        let headers = response.headers().get_all(WWW_AUTHENTICATE);
        let headers = headers.iter().filter_map(|value| value.to_str().ok());
        let challenge = parse_challenges(headers, &call.url).map_err(|method| {
            Error::UnsupportedAuthentication {
                registry: registry.to_owned(),
                method,
            }
        })?;
        let has_credentials = self.credentials(registry).await?.is_some();
        if challenge == Challenge::Basic && !has_credentials {
            return Err(credentials_required(call).into());
        }
        self.shared.auth.set_challenge(registry, challenge);
        Ok(())
    }

    async fn fetch_token(
        &self,
        call: &Call<'_>,
        realm: &Url,
        service: Option<&str>,
    ) -> Result<Secret, AttemptError> {
        let registry = call.repository.registry();
        let credentials = self.credentials(registry).await?;
        if let Some(Credentials::Bearer(token)) = credentials {
            return Ok(token);
        }
        let options = &self.shared.options;
        let base = self.url(registry, "")?;
        let host = realm.host_str().unwrap_or_default();
        let is_own = is_own_realm(registry, &base, realm) || options.token_realms.contains(host);
        if credentials.is_some() && !is_own {
            let (registry, realm) = (registry.to_owned(), host.to_owned());
            return Err(Error::ForeignRealm { registry, realm }.into());
        }
        if (realm.scheme() != "https" && base.scheme() == "https")
            || (!is_own && is_local_url(realm))
        {
            let (registry, realm) = (registry.to_owned(), redact(realm));
            return Err(Error::ForeignRealm { registry, realm }.into());
        }
        let client = self.http(registry, !is_same_host(realm, &base))?;
        let request = match &credentials {
            Some(Credentials::Basic { username, password }) if username == IDENTITY_TOKEN => {
                oauth_request(&client, realm, service, &call.scope, password)
            }
            _ => {
                let request = token_request(&client, realm, service, &call.scope);
                match &credentials {
                    Some(credentials) => with_credentials(request, credentials),
                    None => request,
                }
            }
        };
        let response = self.wait(request, realm, false).await?;
        let status = response.status().as_u16();
        if matches!(status, 400 | 401 | 403) {
            return Err(match credentials {
                Some(_) => unauthorized(call, status, Retry::Never),
                None => credentials_required(call).into(),
            });
        }
        let response = check_transient(response, realm)?;
        let bytes = read_limited(response, realm, MAX_ANSWER).await?;
        let token = Token::parse(&bytes)
            .filter(|_| status == 200)
            .ok_or_else(|| Error::InvalidToken {
                realm: redact(realm),
                reason: format!("status {status} without a token"),
            })?;
        self.shared.auth.set_token(registry, &call.scope, &token);
        Ok(token.secret)
    }

    /// The credentials for a registry: those of the options, else those of Docker.
    async fn credentials(&self, registry: &str) -> Result<Option<Credentials>, Error> {
        if let Some(found) = self.shared.options.credentials.get(registry) {
            return Ok(Some(found.clone()));
        }
        if let LookedUp::Yes(found) = self.shared.auth.credentials(registry) {
            return Ok(found);
        }
        let (docker, name) = (self.shared.options.docker.clone(), registry.to_owned());
        let found = tokio::task::spawn_blocking(move || docker.credentials(&name)).await;
        let found = found.unwrap_or(Err(Error::Canceled))?;
        self.shared.auth.set_credentials(registry, found.clone());
        Ok(found)
    }
}

fn is_same_host(a: &Url, b: &Url) -> bool {
    a.host() == b.host()
}

fn bearer(request: RequestBuilder, token: &Secret) -> RequestBuilder {
    request.header(AUTHORIZATION, format!("Bearer {}", token.reveal()))
}

fn with_credentials(request: RequestBuilder, credentials: &Credentials) -> RequestBuilder {
    match credentials {
        Credentials::Basic { username, password } => {
            request.basic_auth(username, Some(password.reveal()))
        }
        Credentials::Bearer(token) => bearer(request, token),
    }
}

fn token_request(
    client: &reqwest::Client,
    realm: &Url,
    service: Option<&str>,
    scope: &Scope,
) -> RequestBuilder {
    let mut url = realm.clone();
    {
        let mut query = url.query_pairs_mut();
        if let Some(service) = service {
            query.append_pair("service", service);
        }
        for scope in &scope.0 {
            query.append_pair("scope", scope);
        }
    }
    client.get(url)
}

/// Identity tokens of Docker are refresh tokens of OAuth 2.
fn oauth_request(
    client: &reqwest::Client,
    realm: &Url,
    service: Option<&str>,
    scope: &Scope,
    token: &Secret,
) -> RequestBuilder {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "refresh_token")
        .append_pair("refresh_token", token.reveal())
        .append_pair("client_id", "outrigger")
        .append_pair("service", service.unwrap_or_default())
        .append_pair("scope", &scope.0.join(" "));
    client
        .post(realm.clone())
        .header(
            reqwest::header::CONTENT_TYPE,
            "application/x-www-form-urlencoded",
        )
        .body(form.finish())
}

/// Reads a body within a limit.
pub(crate) async fn read_limited(
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

fn check_transient(response: Response, url: &Url) -> Result<Response, AttemptError> {
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

fn unauthorized(call: &Call<'_>, status: u16, retry: Retry) -> AttemptError {
    AttemptError {
        error: Error::Unauthorized {
            registry: call.repository.registry().to_owned(),
            repository: call.repository.path().to_owned(),
            status,
        },
        retry,
    }
}

fn credentials_required(call: &Call<'_>) -> Error {
    Error::CredentialsRequired {
        registry: call.repository.registry().to_owned(),
        repository: call.repository.path().to_owned(),
    }
}

/// The error of a response, with the message of the registry.
pub(crate) async fn status_error(response: Response, url: &Url) -> Error {
    let status = response.status().as_u16();
    let bytes = read_limited(response, url, MAX_ANSWER)
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
