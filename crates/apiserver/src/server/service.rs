//! The way from a request to its answer: who asks, may they, what for, and then the verb.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_LENGTH};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use outrigger_apimachinery::status::Status;

use super::{Body, State, documents};
use crate::auth::{Attributes, Auth, Identity, Target};
use crate::negotiate::{Accept, Answer, NotAcceptable, failure};
use crate::request::{Endpoint, Place, Query};
use crate::verbs::{self, Call, Found};

/// Largest body that is read.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// Answers requests. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Service {
    state: Arc<State>,
    /// Who asks, if that is not for the request to say.
    who: Option<Arc<Identity>>,
}

impl Service {
    pub(crate) fn internal(state: Arc<State>) -> Self {
        Self {
            state,
            who: Some(Arc::new(Identity::internal())),
        }
    }

    /// Who asks is found out from each request.
    pub(crate) fn authenticating(state: Arc<State>) -> Self {
        Self { state, who: None }
    }

    /// The same way in for somebody else, without a token.
    #[must_use]
    pub fn as_user(&self, who: Identity) -> Self {
        Self {
            state: Arc::clone(&self.state),
            who: Some(Arc::new(who)),
        }
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let accept = Accept::parse(&parts.headers, &query);
        let form = accept
            .as_ref()
            .map_or_else(|_| Accept::any(), |accept| *accept);
        let mut warnings = Vec::new();
        let answer = self
            .respond(&parts, query, accept, body, &mut warnings)
            .await;
        let answer = answer.unwrap_or_else(|status| failure(&status));
        self.state.metrics.count(answer.code.as_u16());
        answer.render(form, &warnings)
    }

    async fn respond<B>(
        &self,
        parts: &Parts,
        query: Query<'_>,
        accept: Result<Accept, NotAcceptable>,
        body: B,
        warnings: &mut Vec<String>,
    ) -> Result<Answer, Status>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let endpoint = Endpoint::parse(parts.uri.path());
        let who = self.admit(&endpoint, parts, &query)?;
        let place = match endpoint {
            Endpoint::Document(path) => {
                let (method, headers) = (&parts.method, &parts.headers);
                let accept = accept.map_err(|refusal| refusal.built_in(false));
                return documents::answer(&self.state, method, path, &query, headers, accept);
            }
            Endpoint::Resource(place) => place,
        };
        let kinds = self.state.registry.snapshot();
        let found = match verbs::find(&kinds, &place, &parts.method, &query)? {
            Found::Verb(found) => found,
            Found::Nothing => return Ok(documents::nothing(&kinds, &place.group)),
        };
        let accept = accept.map_err(|refusal| match found.kind.custom {
            Some(_) => NotAcceptable::custom(),
            None => refusal.built_in(matches!(found.verb, "list" | "watch")),
        })?;
        let body = read(&parts.method, &parts.headers, body).await?;
        let mut call = Call::new(&self.state, &who, kinds, found, place, query, parts, accept)?;
        call.body = body;
        let answer = Box::pin(verbs::run(&mut call)).await;
        *warnings = call.take_warnings();
        answer
    }

    /// Who asks, or acts for whom, if they may do what they ask for.
    fn admit(
        &self,
        endpoint: &Endpoint<'_>,
        parts: &Parts,
        query: &Query<'_>,
    ) -> Result<Arc<Identity>, Status> {
        let attributes = match endpoint {
            Endpoint::Document(path) => Attributes {
                verb: document_verb(&parts.method),
                target: Target::Path(path),
            },
            Endpoint::Resource(place) => {
                attributes(place, place.verb(&parts.method, query.flag("watch")))
            }
        };
        let auth = &self.state.auth;
        let who = match &self.who {
            Some(who) if Auth::names_another(&parts.headers) => {
                let who = Identity::clone(who);
                Arc::new(auth.impersonate(who, &parts.headers, &attributes)?)
            }
            Some(who) => Arc::clone(who),
            None if is_public(endpoint) && !parts.headers.contains_key(AUTHORIZATION) => {
                return Ok(Arc::new(Identity::anonymous()));
            }
            None => {
                let who = auth.authenticate(&parts.headers)?;
                Arc::new(auth.impersonate(who, &parts.headers, &attributes)?)
            }
        };
        auth.authorize(&who, &attributes)?;
        Ok(who)
    }
}

/// Whether the server is well is told to everybody.
fn is_public(endpoint: &Endpoint<'_>) -> bool {
    matches!(
        endpoint,
        Endpoint::Document("/healthz" | "/livez" | "/readyz")
    )
}

fn attributes<'a>(place: &'a Place<'_>, verb: &'a str) -> Attributes<'a> {
    Attributes {
        verb,
        target: Target::Resource {
            group: &place.group,
            version: &place.version,
            resource: &place.resource,
            subresource: &place.subresource,
            namespace: &place.namespace,
            name: &place.name,
        },
    }
}

fn document_verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        _ => "other",
    }
}

/// The body of a request that has one. What is too large is not read to its end.
async fn read<B>(method: &Method, headers: &http::HeaderMap, body: B) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display,
{
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(Bytes::new());
    }
    let too_large = || Status::request_entity_too_large(&format!("limit is {MAX_BODY}"));
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    let length: Option<u64> = length.and_then(|length| length.parse().ok());
    if length.is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    let mut body = std::pin::pin!(body);
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(error.to_string()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if all.len() + first.as_ref().map_or(0, Bytes::len) + data.len() > MAX_BODY {
            return Err(too_large());
        }
        // Most bodies come in one piece, which is not copied.
        match (first.take(), all.is_empty()) {
            (None, true) => first = Some(data),
            (Some(begin), _) => {
                all.extend_from_slice(&begin);
                all.extend_from_slice(&data);
            }
            (None, false) => all.extend_from_slice(&data),
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}
