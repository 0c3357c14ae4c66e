//! The handler chain of a request: authentication, authorization, routing, then the verb.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use outrigger_apimachinery::status::Status;

use super::{Body, State, backup, non_resource, request_body};
use crate::auth::{Attributes, Auth, Target, UserInfo};
use crate::negotiation::{Accept, ApiResponse, NotAcceptable, failure, text};
use crate::panics;
use crate::request::{Endpoint, Query};
use crate::transport::Connection;
use crate::verbs::{self, RequestContext};

/// The body of the response to a request above the limit of requests in flight.
const TOO_MANY: &str = "Too many requests, please try again later.\n";

/// The body of the response to a request that panicked.
const PANICKED: &str = "This request caused apiserver to panic. Look in the logs for details.\n";

/// The API as a tower service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Service {
    state: Arc<State>,
    /// The user of all requests; if none, each request is authenticated.
    user: Option<Arc<UserInfo>>,
}

impl Service {
    pub(crate) fn internal(state: Arc<State>) -> Self {
        Self {
            state,
            user: Some(Arc::new(UserInfo::internal())),
        }
    }

    /// Authenticates each request by its bearer token.
    pub(crate) fn authenticating(state: Arc<State>) -> Self {
        Self { state, user: None }
    }

    /// The same service for requests of another user, without a token.
    #[must_use]
    pub fn as_user(&self, user: UserInfo) -> Self {
        Self {
            state: Arc::clone(&self.state),
            user: Some(Arc::new(user)),
        }
    }

    /// Handles one request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
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
        let response = self.respond(&parts, query, accept, body, &mut warnings);
        let response = match panics::catch_async(response).await {
            Ok(response) => response.unwrap_or_else(|status| failure(&status)),
            Err(panic) => {
                let (method, path) = (&parts.method, parts.uri.path());
                tracing::error!(%method, path, %panic, "a request panicked");
                self.state.metrics.request_aborted();
                text(StatusCode::INTERNAL_SERVER_ERROR, PANICKED)
            }
        };
        self.state.metrics.count(response.code.as_u16());
        response.render(form, &warnings)
    }

    async fn respond<B>(
        &self,
        parts: &Parts,
        query: Query<'_>,
        accept: Result<Accept, NotAcceptable>,
        body: B,
        warnings: &mut Vec<String>,
    ) -> Result<ApiResponse, Status>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let endpoint = Endpoint::parse(parts.uri.path());
        let user = self.authorize(&endpoint, parts, &query)?;
        let info = match endpoint {
            Endpoint::NonResource(backup::PATH) if parts.method == Method::GET => {
                return backup::respond(&self.state).await;
            }
            Endpoint::NonResource(path) => {
                let (method, headers) = (&parts.method, &parts.headers);
                let accept = accept.map_err(|error| error.built_in(false));
                query.check_timeout()?;
                return non_resource::handle(&self.state, method, path, &query, headers, accept);
            }
            Endpoint::Resource(info) => info,
        };
        let kinds = self.state.registry.snapshot();
        let Some(route) = verbs::route(&kinds, &info, &parts.method, &query)? else {
            return Ok(non_resource::no_such_resource(&kinds, &info.group));
        };
        let accept = accept.map_err(|error| match route.kind.custom {
            Some(_) => NotAcceptable::custom(),
            None => error.built_in(matches!(route.verb, "list" | "watch")),
        })?;
        if !matches!(route.verb, "watch" | "connect") {
            query.check_timeout()?;
        }
        let memory = &self.state.body_memory;
        let body = request_body::read(memory, &parts.method, &parts.headers, body).await?;
        let slot = self.state.in_flight.begin(route.verb);
        if slot.is_none() && !self.is_exempt(&user, route.verb) {
            self.state.metrics.request_terminated();
            let response = text(StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
            return Ok(response.header(RETRY_AFTER, "1"));
        }
        let mut ctx =
            RequestContext::new(&self.state, &user, kinds, route, info, query, parts, accept)?;
        ctx.body = body.bytes.clone();
        let response = Box::pin(verbs::run(&mut ctx)).await;
        *warnings = ctx.take_warnings();
        response
    }

    /// The limit of requests in flight is for clients, except for watches and administrators.
    fn is_exempt(&self, user: &UserInfo, verb: &str) -> bool {
        let is_admin = || user.groups.iter().any(|group| group == "system:masters");
        self.user.is_some() || verb == "watch" || is_admin()
    }

    /// Authenticates, impersonates and authorizes; returns the user that the request acts for.
    fn authorize(
        &self,
        endpoint: &Endpoint<'_>,
        parts: &Parts,
        query: &Query<'_>,
    ) -> Result<Arc<UserInfo>, Status> {
        let attributes = match endpoint {
            Endpoint::NonResource(path) => Attributes {
                verb: non_resource_verb(&parts.method),
                target: Target::Path(path),
            },
            Endpoint::Resource(info) => {
                info.attributes(info.verb(&parts.method, query.flag("watch")))
            }
        };
        let auth = &self.state.auth;
        let user = match &self.user {
            Some(user) if Auth::has_impersonation(&parts.headers) => {
                let user = UserInfo::clone(user);
                Arc::new(auth.impersonate(user, &parts.headers, &attributes)?)
            }
            Some(user) => Arc::clone(user),
            None if is_public(endpoint) && !parts.headers.contains_key(AUTHORIZATION) => {
                return Ok(Arc::new(UserInfo::anonymous()));
            }
            None => {
                let user = auth.authenticate(&parts.headers)?;
                if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
                    connection.set_authenticated();
                }
                Arc::new(auth.impersonate(user, &parts.headers, &attributes)?)
            }
        };
        auth.authorize(&user, &attributes)?;
        Ok(user)
    }
}

/// Health checks need no authentication.
fn is_public(endpoint: &Endpoint<'_>) -> bool {
    matches!(
        endpoint,
        Endpoint::NonResource("/healthz" | "/livez" | "/readyz")
    )
}

fn non_resource_verb(method: &Method) -> &'static str {
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
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}
