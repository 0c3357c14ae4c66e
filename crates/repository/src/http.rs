//! One GET: with the right credentials for the right server, redirects, retries and limits.

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
use crate::cache::Note;
use crate::digest::Hasher;
use crate::error::{Transport, shown};
use crate::redirect::{MAX, follow, same_server};
use crate::retry::{Backoff, is_transient};
use crate::{Error, digest};

/// How patient we are.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    pub(crate) backoff: Backoff,
    pub(crate) connect: Duration,
    /// How long a server may be silent
    pub(crate) silence: Duration,
}

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a Url,
    /// The server that the credentials are for
    pub(crate) home: &'a Url,
    pub(crate) access: &'a Access,
    /// What we have already
    pub(crate) known: Option<&'a Note>,
    /// So many bytes are taken at most
    pub(crate) limit: u64,
}

#[derive(Debug)]
pub(crate) enum Answer {
    NotModified,
    Body { bytes: Vec<u8>, note: Note },
}

/// A client for each set of certificates, shared by all requests.
#[derive(Debug)]
pub(crate) struct Http {
    patience: Patience,
    clients: Mutex<Vec<(Tls, Client)>>,
}

/// So many sets of certificates keep their connections.
const MAX_CLIENTS: usize = 32;

/// A try that failed.
struct Failure {
    error: Error,
    again: Again,
}

/// Whether another try makes sense.
enum Again {
    No,
    /// After a while; after this one if the server asks for it.
    Yes(Option<Duration>),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            error,
            again: Again::No,
        }
    }
}

impl Http {
    pub(crate) fn new(patience: Patience) -> Self {
        Self {
            patience,
            clients: Mutex::default(),
        }
    }

    /// Asks until there is an answer or no more patience.
    pub(crate) async fn get(&self, ask: &Ask<'_>) -> Result<Answer, Error> {
        let mut tried = 0;
        loop {
            tried += 1;
            let failure = match self.attempt(ask).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let pause = match failure.again {
                Again::No => None,
                Again::Yes(asked) => self.patience.backoff.pause(tried, asked),
            };
            let Some(pause) = pause else {
                return Err(failure.error);
            };
            tracing::debug!("{}; trying again in {pause:?}", failure.error);
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(&self, ask: &Ask<'_>) -> Result<Answer, Failure> {
        let mut url = ask.url.clone();
        for _ in 0..=MAX {
            let response = self.send(ask, &url).await?;
            let status = response.status();
            if status == StatusCode::NOT_MODIFIED {
                return Ok(Answer::NotModified);
            }
            if status.is_redirection() {
                url = follow(&url, text(response.headers(), LOCATION).as_deref())?;
                continue;
            }
            validate_custom_resource_status(&response, &url)?;
            return receive(response, &url, ask.limit).await;
        }
        Err(Error::Redirect {
            url: shown(ask.url),
            reason: format!("more than {MAX} times"),
        }
        .into())
    }

    async fn send(&self, ask: &Ask<'_>, url: &Url) -> Result<Response, Failure> {
        let at_home = same_server(url, ask.home);
        let tls = Tls {
            ca: ask.access.tls.ca.clone(),
            client: ask.access.tls.client.clone().filter(|_| at_home),
        };
        let mut request = self.client(tls, url)?.get(url.clone());
        match ask.access.credentials.as_ref().filter(|_| at_home) {
            None => {}
            Some(Credentials::Basic { username, password }) => {
                request = request.basic_auth(username, Some(password.reveal()));
            }
            Some(Credentials::Bearer(token)) => {
                request = request.header(AUTHORIZATION, format!("Bearer {}", token.reveal()));
            }
        }
        if let Some(etag) = ask.known.and_then(|note| note.etag.as_ref()) {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(time) = ask.known.and_then(|note| note.last_modified.as_ref()) {
            request = request.header(IF_MODIFIED_SINCE, time);
        }
        request.send().await.map_err(|error| failed(&error, url, 0))
    }

    /// The client for a set of certificates, made when it is first needed.
    fn client(&self, tls: Tls, url: &Url) -> Result<Client, Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(known, _)| *known == tls) {
            return Ok(client.clone());
        }
        let client = self.build(&tls).map_err(|source| Error::Tls {
            url: shown(url),
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
            .connect_timeout(self.patience.connect)
            .read_timeout(self.patience.silence);
        if let Some(ca) = &tls.ca {
            builder = builder.tls_certs_merge(Certificate::from_pem_bundle(ca)?);
        }
        if let Some((certificate, key)) = &tls.client {
            let both = [certificate, b"\n".as_slice(), key.reveal().as_bytes()].concat();
            builder = builder.identity(Identity::from_pem(&both)?);
        }
        builder.build()
    }
}

fn validate_custom_resource_status(response: &Response, url: &Url) -> Result<(), Failure> {
    let status = response.status().as_u16();
    let url = shown(url);
    match status {
        200..=299 => Ok(()),
        401 | 403 => Err(Error::Unauthorized { url, status }.into()),
        status if is_transient(status) => {
            let asked = text(response.headers(), RETRY_AFTER);
            let asked = asked.and_then(|text| text.parse().ok());
            Err(Failure {
                error: Error::Unreachable {
                    url,
                    source: Transport::Server { status },
                },
                again: Again::Yes(asked.map(Duration::from_secs)),
            })
        }
        status => Err(Error::Status { url, status }.into()),
    }
}

/// Takes the body and its digest, chunk by chunk.
async fn receive(mut response: Response, url: &Url, limit: u64) -> Result<Answer, Failure> {
    let too_large = || Error::TooLarge {
        url: shown(url),
        limit,
    };
    let expected = response.content_length().unwrap_or_default();
    if expected > limit {
        return Err(too_large().into());
    }
    let etag = text(response.headers(), ETAG);
    let last_modified = text(response.headers(), LAST_MODIFIED);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
    let mut hasher = Hasher::default();
    loop {
        let received = bytes.len() as u64;
        let chunk = response.chunk().await;
        let Some(chunk) = chunk.map_err(|error| failed(&error, url, received))? else {
            break;
        };
        if received + chunk.len() as u64 > limit {
            return Err(too_large().into());
        }
        hasher.add(&chunk);
        bytes.extend_from_slice(&chunk);
    }
    let note = Note {
        digest: hasher.finish(),
        etag,
        last_modified,
    };
    Ok(Answer::Body { bytes, note })
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// What became of a request that has no answer.
fn failed(error: &reqwest::Error, url: &Url, received: u64) -> Failure {
    let reason = innermost(error);
    let url = shown(url);
    if reason.contains("certificate") {
        return Error::Untrusted { url, reason }.into();
    }
    let source = if error.is_timeout() {
        Transport::Timeout
    } else if error.is_body() || error.is_decode() || reason.contains("connection closed") {
        Transport::Cut { received }
    } else {
        Transport::Failed(reason)
    };
    Failure {
        error: Error::Unreachable { url, source },
        again: Again::Yes(None),
    }
}

/// The words of the first cause, which have no URL in them.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = "the request failed".to_owned();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

/// The key of an address in the cache. What one may see, another must not get.
pub(crate) fn key(url: &Url, access: &Access) -> String {
    digest::of_parts(&[url.as_str().as_bytes(), access.fingerprint().as_bytes()])
}
