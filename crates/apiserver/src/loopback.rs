//! The loopback client: a small client for unstructured objects over the service in the same process, for controllers.
//!
//! It does not retry.

mod await_condition;
mod resource_path;
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

pub use resource_path::ResourcePath;
pub use watch::{Watch, WatchEvent};

const JSON: &str = "application/json";

/// How many objects are listed at a time.
const PAGE: usize = 500;

type Body = UnsyncBoxBody<Bytes, String>;
type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, Error>> + Send>>;
type Call = dyn Fn(Request<Full<Bytes>>) -> ResponseFuture + Send + Sync;

/// The type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    /// JSON merge patch.
    Merge,
    /// JSON patch: a list of operations.
    Json,
    /// Server-side apply with `force`.
    Apply,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server returned an error.
    #[error("the server returned {code}: {message}")]
    Api {
        code: u16,
        reason: String,
        message: String,
    },
    #[error("failed to decode the response")]
    Decode(#[source] serde_json::Error),
    #[error("the service failed: {0}")]
    Service(String),
    #[error("failed to build the request")]
    Request(#[from] http::Error),
}

impl Error {
    /// The HTTP status code, if the server responded.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Api { code, .. } => Some(*code),
            Self::Decode(_) | Self::Service(_) | Self::Request(_) => None,
        }
    }

    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// The object has changed or already exists.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }
}

/// A client. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    call: Arc<Call>,
    /// The user agent, and so the field manager.
    manager: Arc<str>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("manager", &self.manager)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client that writes as `manager`.
    pub fn new<S, B>(service: S, manager: &str) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: fmt::Display,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: fmt::Display,
    {
        let call = move |request| -> ResponseFuture {
            let mut service = service.clone();
            // The service is always ready.
            let response = service.call(request);
            Box::pin(async move {
                let response = response
                    .await
                    .map_err(|error| Error::Service(error.to_string()))?;
                Ok(response.map(|body| body.map_err(|error| error.to_string()).boxed_unsync()))
            })
        };
        Self {
            call: Arc::new(call),
            manager: manager.into(),
        }
    }

    /// The same client with another field manager.
    #[must_use]
    pub fn with_manager(&self, manager: &str) -> Self {
        Self {
            call: Arc::clone(&self.call),
            manager: manager.into(),
        }
    }

    pub async fn get(&self, path: &ResourcePath) -> Result<Value, Error> {
        self.json(Method::GET, &path.path(), None).await
    }

    /// The objects and the resource version of the list. `query` is a query string without `?`, or empty.
    pub async fn list(
        &self,
        path: &ResourcePath,
        query: &str,
    ) -> Result<(Vec<Value>, String), Error> {
        let mut list = self.json(Method::GET, &path.path_with(query), None).await?;
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

    /// Like [`Client::list`], in pages, of whose objects only what `map` returns is kept.
    pub async fn list_in_pages(
        &self,
        path: &ResourcePath,
        map: impl Fn(Value) -> Value,
    ) -> Result<(Vec<Value>, String), Error> {
        let (mut items, mut token) = (Vec::new(), String::new());
        loop {
            let query = format!("limit={PAGE}&continue={token}");
            let mut page = self
                .json(Method::GET, &path.path_with(&query), None)
                .await?;
            if let Value::Array(objects) = page["items"].take() {
                items.extend(objects.into_iter().map(&map));
            }
            let text = |key: &str| page["metadata"][key].as_str().unwrap_or_default();
            text("continue").clone_into(&mut token);
            if token.is_empty() {
                return Ok((items, text("resourceVersion").to_owned()));
            }
        }
    }

    pub async fn create(&self, path: &ResourcePath, object: &Value) -> Result<Value, Error> {
        self.json(Method::POST, &path.collection(), Some((JSON, object)))
            .await
    }

    pub async fn replace(&self, path: &ResourcePath, object: &Value) -> Result<Value, Error> {
        self.json(Method::PUT, &path.path(), Some((JSON, object)))
            .await
    }

    pub async fn patch(
        &self,
        path: &ResourcePath,
        patch: Patch,
        change: &Value,
    ) -> Result<Value, Error> {
        self.patch_at(path, "", patch, change).await
    }

    pub async fn patch_status(&self, path: &ResourcePath, change: &Value) -> Result<Value, Error> {
        self.patch_at(path, "/status", Patch::Merge, change).await
    }

    /// Applies a status, as [`Patch::Apply`] does.
    pub async fn apply_status(&self, path: &ResourcePath, status: &Value) -> Result<Value, Error> {
        self.patch_at(path, "/status", Patch::Apply, status).await
    }

    async fn patch_at(
        &self,
        path: &ResourcePath,
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
        let path = format!("{}{subresource}{query}", path.path());
        self.json(Method::PATCH, &path, Some((kind, change))).await
    }

    /// `options` are `DeleteOptions` without kind and version; null for none.
    pub async fn delete(&self, path: &ResourcePath, options: &Value) -> Result<Value, Error> {
        let body = (!options.is_null()).then_some((JSON, options));
        self.json(Method::DELETE, &path.path(), body).await
    }

    /// Watches from `revision`; if it is empty, from now on, beginning with the existing objects.
    pub async fn watch(&self, path: &ResourcePath, revision: &str) -> Result<Watch, Error> {
        let query = format!("watch=true&allowWatchBookmarks=true&resourceVersion={revision}");
        let response = self
            .send(Method::GET, &path.path_with(&query), None)
            .await?;
        Ok(Watch::new(check(response).await?.into_body()))
    }

    async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, Error> {
        let response = check(self.send(method, path, body).await?).await?;
        let bytes = collect(response.into_body()).await?;
        serde_json::from_slice(&bytes).map_err(Error::Decode)
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

/// Converts an error response to an error.
async fn check(response: Response<Body>) -> Result<Response<Body>, Error> {
    if response.status().is_success() {
        return Ok(response);
    }
    let code = response.status().as_u16();
    let bytes = collect(response.into_body()).await?;
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
    Err(Error::Api {
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
