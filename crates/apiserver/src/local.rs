//! A small client for objects as JSON, over the service in the same process: for the server's own controllers.
//!
//! It says what it wants in terms of the API and is answered with objects or a [`Error::Refused`]. It does not retry.

mod condition;
mod path;
mod watch;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower_service::Service;

pub use path::Place;
pub use watch::{Change, Watch};

const JSON: &str = "application/json";

type Body = UnsyncBoxBody<Bytes, String>;
type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Error>> + Send>>;
type Call = dyn Fn(Request<Full<Bytes>>) -> Answer + Send + Sync;

/// How an object is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    /// JSON merge patch.
    Merge,
    /// JSON patch: a list of operations.
    Json,
    /// Server-side apply; fields of others are taken.
    Apply,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no.
    #[error("the server answered {code}: {message}")]
    Refused {
        /// The HTTP code.
        code: u16,
        /// The word for machines.
        reason: String,
        /// The sentence for people.
        message: String,
    },
    /// The answer is no JSON.
    #[error("failed to read the answer")]
    Answer(#[source] serde_json::Error),
    /// There is no service.
    #[error("the service does not answer: {0}")]
    Service(String),
    /// The request cannot be written.
    #[error("failed to write the request")]
    Request(#[from] http::Error),
}

impl Error {
    /// The HTTP code, if the server answered.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Answer(_) | Self::Service(_) | Self::Request(_) => None,
        }
    }

    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// The object is not what the caller thought: it has changed, or is there already.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }
}

/// A client. Cheap to clone.
#[derive(Clone)]
pub struct Local {
    call: Arc<Call>,
    /// Who the server thinks manages the fields that are written.
    manager: Arc<str>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("manager", &self.manager)
            .finish_non_exhaustive()
    }
}

impl Local {
    /// A client that writes as `manager`.
    pub fn new<S, B>(service: S, manager: &str) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: fmt::Display,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: fmt::Display,
    {
        let call = move |request| -> Answer {
            let mut service = service.clone();
            // The service is one that is always ready.
            let answer = service.call(request);
            Box::pin(async move {
                let answer = answer
                    .await
                    .map_err(|error| Error::Service(error.to_string()))?;
                Ok(answer.map(|body| body.map_err(|error| error.to_string()).boxed_unsync()))
            })
        };
        Self {
            call: Arc::new(call),
            manager: manager.into(),
        }
    }

    /// The same client under another name.
    #[must_use]
    pub fn named(&self, manager: &str) -> Self {
        Self {
            call: Arc::clone(&self.call),
            manager: manager.into(),
        }
    }

    pub async fn get(&self, place: &Place) -> Result<Value, Error> {
        self.json(Method::GET, &place.path(), None).await
    }

    /// The objects and the revision of the list. `query` is a query string without the question mark, or empty.
    pub async fn list(&self, place: &Place, query: &str) -> Result<(Vec<Value>, String), Error> {
        let mut list = self
            .json(Method::GET, &place.path_with(query), None)
            .await?;
        let revision = list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Ok((items, revision))
    }

    /// `place` is the collection: it names no object.
    pub async fn create(&self, place: &Place, object: &Value) -> Result<Value, Error> {
        self.json(Method::POST, &place.collection(), Some((JSON, object)))
            .await
    }

    pub async fn replace(&self, place: &Place, object: &Value) -> Result<Value, Error> {
        self.json(Method::PUT, &place.path(), Some((JSON, object)))
            .await
    }

    pub async fn patch(&self, place: &Place, patch: Patch, change: &Value) -> Result<Value, Error> {
        self.patch_at(place, "", patch, change).await
    }

    pub async fn patch_status(&self, place: &Place, change: &Value) -> Result<Value, Error> {
        self.patch_at(place, "/status", Patch::Merge, change).await
    }

    async fn patch_at(
        &self,
        place: &Place,
        subresource: &str,
        patch: Patch,
        change: &Value,
    ) -> Result<Value, Error> {
        let (kind, query) = match patch {
            Patch::Merge => ("application/merge-patch+json", String::new()),
            Patch::Json => ("application/json-patch+json", String::new()),
            Patch::Apply => {
                let query = format!("?force=true&fieldManager={}", self.manager);
                ("application/apply-patch+yaml", query)
            }
        };
        let path = format!("{}{subresource}{query}", place.path());
        self.json(Method::PATCH, &path, Some((kind, change))).await
    }

    /// `options` are `DeleteOptions` without kind and version; null for none.
    pub async fn delete(&self, place: &Place, options: &Value) -> Result<Value, Error> {
        let body = (!options.is_null()).then_some((JSON, options));
        self.json(Method::DELETE, &place.path(), body).await
    }

    /// Every change after `revision`; from now on, with what is there first, if it is empty.
    pub async fn watch(&self, place: &Place, revision: &str) -> Result<Watch, Error> {
        let query = format!("watch=true&allowWatchBookmarks=true&resourceVersion={revision}");
        let answer = self
            .send(Method::GET, &place.path_with(&query), None)
            .await?;
        Ok(Watch::new(checked(answer).await?.into_body()))
    }

    async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, Error> {
        let answer = checked(self.send(method, path, body).await?).await?;
        let bytes = collect(answer.into_body()).await?;
        serde_json::from_slice(&bytes).map_err(Error::Answer)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Response<Body>, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(ACCEPT, JSON);
        request = request.header(USER_AGENT, &*self.manager);
        let mut bytes = Bytes::new();
        if let Some((kind, object)) = body {
            request = request.header(CONTENT_TYPE, kind);
            bytes = object.to_string().into();
        }
        (self.call)(request.body(Full::new(bytes))?).await
    }
}

/// An answer that is no refusal.
async fn checked(answer: Response<Body>) -> Result<Response<Body>, Error> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let code = answer.status().as_u16();
    let bytes = collect(answer.into_body()).await?;
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
    Err(Error::Refused {
        code,
        reason: text("reason"),
        message: text("message"),
    })
}

async fn collect(body: Body) -> Result<Bytes, Error> {
    let collected = body.collect().await.map_err(Error::Service)?;
    Ok(collected.to_bytes())
}

#[cfg(test)]
mod tests;
