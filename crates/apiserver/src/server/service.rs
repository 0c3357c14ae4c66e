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
use outrigger_builtin::kinds::Kinds;

use super::expensive::Closed;
use super::{Body, State, Thread, backup, non_resource, request_body};
use crate::auth::{ANONYMOUS, Attributes, Auth, Target, UserInfo};
use crate::flow_control::{Flow, Seat};
use crate::negotiation::{Accept, Format, NotAcceptable, failure, text};
use crate::panics;
use crate::request::{Endpoint, Query};
use crate::transport::Connection;
use crate::verbs::{self, RequestContext};

/// The body of the response to a request of a priority level that has too many.
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

/// The user that a request acts for, and the flow that it was assigned to.
#[derive(Debug)]
struct Caller {
    user: Arc<UserInfo>,
    flow: Option<Flow>,
}

impl Caller {
    /// Waits for the seat of a request; none if its level has too many. Requests without a flow need no seat.
    async fn begin(&self) -> Option<Option<Seat>> {
        match &self.flow {
            Some(flow) => flow.begin().await.map(Some),
            None => Some(None),
        }
    }
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
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: std::fmt::Display,
    {
        let (parts, body) = request.into_parts();
        let response = match panics::catch_async(self.handle_parts(&parts, body)).await {
            Ok(response) => response,
            Err(panic) => {
                let (method, path) = (&parts.method, parts.uri.path());
                tracing::error!(%method, path, %panic, "a request panicked");
                self.state.metrics.request_aborted();
                let response = text(StatusCode::INTERNAL_SERVER_ERROR, PANICKED);
                response.render(Accept::any(), &[])
            }
        };
        let response = self.bound_memory(response);
        self.state.metrics.count(response.status().as_u16());
        response
    }

    /// Counts the memory of a response until it was sent; rejects the request if there is not enough.
    fn bound_memory(&self, response: Response<Body>) -> Response<Body> {
        match self.state.response_memory.hold(response.body().buffered()) {
            Some(memory) => response.map(|body| body.holding(memory)),
            None => self.too_many_requests(Accept::any()),
        }
    }

    async fn handle_parts<B>(&self, parts: &Parts, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: std::fmt::Display,
    {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let accept = Accept::parse(&parts.headers, &query);
        let form = accept
            .as_ref()
            .map_or_else(|_| Accept::any(), |accept| *accept);
        let endpoint = Endpoint::parse(parts.uri.path()).with_query(&query);
        let attributes = attributes(&endpoint, &parts.method, &query);
        let caller = match self.authenticate(parts, &attributes) {
            Ok(user) => self.classify(user, &attributes),
            Err(status) => return failure(&status).render(form, &[]),
        };
        let is_anonymous = caller.user.name == ANONYMOUS;
        let response = match self.state.auth.authorize(&caller.user, &attributes) {
            Err(status) if !(is_anonymous && is_public(&attributes)) => Err(status),
            _ => Box::pin(self.respond(parts, endpoint, query, accept, &caller, body)).await,
        };
        let mut response = response.unwrap_or_else(|status| failure(&status).render(form, &[]));
        if let Some(flow) = caller.flow {
            flow.add_headers(response.headers_mut());
        }
        response
    }

    async fn respond<B>(
        &self,
        parts: &Parts,
        endpoint: Endpoint<'_>,
        query: Query<'_>,
        accept: Result<Accept, NotAcceptable>,
        caller: &Caller,
        body: B,
    ) -> Result<Response<Body>, Status>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: std::fmt::Display,
    {
        let info = match endpoint {
            Endpoint::NonResource(_) => {
                let Some(_seat) = caller.begin().await else {
                    return Ok(self.too_many_requests(Accept::any()));
                };
                return self.non_resource(parts, &query, accept).await;
            }
            Endpoint::Resource(info) => info,
        };
        let kinds = self.state.registry.snapshot();
        let Some(route) = verbs::route(&kinds, &info, &parts.method, &query)? else {
            let response = non_resource::no_such_resource(&kinds, &info.group);
            return Ok(response.render(accept.unwrap_or_else(|_| Accept::any()), &[]));
        };
        let accept = accept.map_err(|error| match route.kind.custom {
            Some(_) => NotAcceptable::custom(),
            None => error.built_in(matches!(route.verb, "list" | "watch")),
        })?;
        if accept.only_protobuf && route.kind.custom.is_some() {
            let format = Format::Protobuf;
            let response = failure(&NotAcceptable::custom());
            return Ok(response.render(Accept { format, ..accept }, &[]));
        }
        if !matches!(route.verb, "watch" | "connect") {
            query.check_timeout()?;
        }
        let memory = &self.state.body_memory;
        let body = request_body::read(memory, &parts.method, &parts.headers, body).await?;
        // Watches are limited by their connections.
        let seat = match route.verb {
            "watch" => Some(None),
            _ => caller.begin().await,
        };
        let Some(_seat) = seat else {
            return Ok(self.too_many_requests(accept));
        };
        let user = &caller.user;
        let mut ctx =
            RequestContext::new(&self.state, user, kinds, route, info, query, parts, accept)?;
        ctx.body = body.bytes.clone();
        if !verbs::is_expensive(&ctx) {
            let response = run_verb(&mut ctx).await;
            if !ctx.is_exhausted() {
                return Ok(response);
            }
        }
        let kinds = Arc::clone(&ctx.kinds);
        drop(ctx);
        self.run_expensive(parts, Arc::clone(user), kinds, accept, body.bytes.clone())
            .await
    }

    /// Runs the verb on a thread for expensive requests. A verb that ran into the limit of the shared threads has not
    /// written anything, and starts again.
    async fn run_expensive(
        &self,
        parts: &Parts,
        user: Arc<UserInfo>,
        kinds: Arc<Kinds>,
        accept: Accept,
        body: Bytes,
    ) -> Result<Response<Body>, Status> {
        let (parts, state) = (parts.clone(), Arc::clone(&self.state));
        let run = self.on_expensive_thread(|thread| async move {
            let query = Query::parse(parts.uri.query().unwrap_or_default());
            let Endpoint::Resource(info) = Endpoint::parse(parts.uri.path()) else {
                return Err(Status::no_such_resource());
            };
            let route = verbs::route(&kinds, &info, &parts.method, &query)?;
            let route = route.ok_or_else(Status::no_such_resource)?;
            let ctx = RequestContext::new(&state, &user, kinds, route, info, query, &parts, accept);
            let mut ctx = ctx?;
            ctx.body = body;
            ctx.thread = thread;
            Ok(run_verb(&mut ctx).await)
        });
        run.await?
    }

    /// Runs a part of a request on a thread for expensive requests. A panic there continues here.
    async fn on_expensive_thread<F>(
        &self,
        request: impl FnOnce(Thread) -> F,
    ) -> Result<F::Output, Status>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let closed = self.state.closed.clone();
        let run = |thread| panics::catch_async(request(thread));
        match self.state.expensive.run(closed, run).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(panic)) => panic.resume(),
            Err(Closed) => Err(Status::service_unavailable("the server is shutting down")),
        }
    }

    async fn non_resource(
        &self,
        parts: &Parts,
        query: &Query<'_>,
        accept: Result<Accept, NotAcceptable>,
    ) -> Result<Response<Body>, Status> {
        let path = parts.uri.path();
        let form = accept.unwrap_or_else(|_| Accept::any());
        if path == backup::PATH && parts.method == Method::GET {
            let response = backup::respond(&self.state).await?;
            return Ok(response.render(form, &[]));
        }
        query.check_timeout()?;
        if !non_resource::is_expensive(path) {
            let accept = accept.map_err(|error| error.built_in(false));
            let response = non_resource::handle(&self.state, parts, query, accept).await?;
            return Ok(response.render(form, &[]));
        }
        let (parts, state) = (parts.clone(), Arc::clone(&self.state));
        let run = self.on_expensive_thread(|_| async move {
            let query = Query::parse(parts.uri.query().unwrap_or_default());
            let accept = accept.map_err(|error| error.built_in(false));
            let response = non_resource::handle(&state, &parts, &query, accept).await?;
            Ok(response.render(form, &[]))
        });
        run.await?
    }

    /// Assigns a request to its flow. Callers in the same process are not limited.
    fn classify(&self, user: Arc<UserInfo>, attributes: &Attributes<'_>) -> Caller {
        let flow_control = self.user.is_none().then_some(&self.state.flow_control);
        let flow = flow_control.and_then(|control| control.classify(&user, attributes));
        Caller { user, flow }
    }

    fn too_many_requests(&self, accept: Accept) -> Response<Body> {
        self.state.metrics.request_terminated();
        let response = text(StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
        response.header(RETRY_AFTER, "1").render(accept, &[])
    }

    /// Authenticates and impersonates; returns the user that the request acts for.
    fn authenticate(
        &self,
        parts: &Parts,
        attributes: &Attributes<'_>,
    ) -> Result<Arc<UserInfo>, Status> {
        let auth = &self.state.auth;
        let user = match &self.user {
            Some(user) if Auth::has_impersonation(&parts.headers) => {
                let user = UserInfo::clone(user);
                Arc::new(auth.impersonate(user, &parts.headers, attributes)?)
            }
            Some(user) => Arc::clone(user),
            None if is_public(attributes) && !parts.headers.contains_key(AUTHORIZATION) => {
                return Ok(Arc::new(UserInfo::anonymous()));
            }
            None => {
                let user = auth.authenticate(&parts.headers)?;
                if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
                    connection.set_authenticated();
                }
                Arc::new(auth.impersonate(user, &parts.headers, attributes)?)
            }
        };
        Ok(user)
    }
}

/// Runs the verb and renders the response with its warnings.
async fn run_verb(ctx: &mut RequestContext<'_>) -> Response<Body> {
    let response = Box::pin(verbs::run(ctx)).await;
    let response = response.unwrap_or_else(|status| failure(&status));
    response.render(ctx.accept, &ctx.take_warnings())
}

/// The attributes of a request for authorization and flow control.
fn attributes<'a>(
    endpoint: &'a Endpoint<'_>,
    method: &Method,
    query: &Query<'_>,
) -> Attributes<'a> {
    match endpoint {
        Endpoint::NonResource(path) => Attributes {
            verb: non_resource_verb(method),
            target: Target::Path(path),
        },
        Endpoint::Resource(info) => info.attributes(info.verb(method, query.flag("watch"))),
    }
}

/// Health checks need no authentication.
fn is_public(attributes: &Attributes<'_>) -> bool {
    matches!(
        attributes.target,
        Target::Path("/healthz" | "/livez" | "/readyz")
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
