//! The context of a request for a resource: user, kind, verb, parameters and body.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::HeaderMap;
use http::header::USER_AGENT;
use http::request::Parts;
use outrigger_admission::{Attributes, Operation};
use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::{Kind, Kinds};
use outrigger_builtin::prepare::User;
use outrigger_store::{Key, Resource, Scope};

use super::route::Route;
use crate::auth::UserInfo;
use crate::negotiation::Accept;
use crate::request::{Query, RequestInfo};
use crate::server::{State, Thread};

/// An authorized request with its kind and verb.
#[derive(Debug)]
pub(crate) struct RequestContext<'r> {
    pub(crate) state: &'r Arc<State>,
    pub(crate) user: &'r UserInfo,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) verb: &'static str,
    /// The resource under which the store keeps the kind.
    pub(crate) resource: Resource,
    pub(crate) info: RequestInfo<'r>,
    pub(crate) query: Query<'r>,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) accept: Accept,
    pub(crate) body: Bytes,
    pub(crate) thread: Thread,
    /// CEL was too expensive for the thread, or was stopped.
    is_exhausted: AtomicBool,
    warnings: Vec<String>,
}

impl<'r> RequestContext<'r> {
    #[expect(clippy::too_many_arguments, reason = "the parts of a request are many")]
    pub(crate) fn new(
        state: &'r Arc<State>,
        user: &'r UserInfo,
        kinds: Arc<Kinds>,
        route: Route,
        info: RequestInfo<'r>,
        query: Query<'r>,
        parts: &'r Parts,
        accept: Accept,
    ) -> Result<Self, Status> {
        Ok(Self {
            state,
            user,
            kinds,
            resource: resource_of(&route.kind)?,
            kind: route.kind,
            verb: route.verb,
            info,
            query,
            headers: &parts.headers,
            accept,
            body: Bytes::new(),
            thread: Thread::Shared,
            is_exhausted: AtomicBool::new(false),
            warnings: Vec::new(),
        })
    }

    pub(crate) fn namespace(&self) -> &str {
        self.info.object_namespace()
    }

    pub(crate) fn name(&self) -> &str {
        &self.info.name
    }

    pub(crate) fn group_resource(&self) -> GroupResource<'_> {
        self.kind.group_resource()
    }

    /// The key of the object that the path names.
    pub(crate) fn key(&self) -> Result<Key, Status> {
        self.key_of(self.name())
    }

    /// A name that is not valid in a key does not exist.
    pub(crate) fn key_of(&self, name: &str) -> Result<Key, Status> {
        let key = self.resource.key(self.namespace(), name);
        key.map_err(|_| self.not_found(name))
    }

    /// The collection that the path names.
    pub(crate) fn scope(&self) -> Result<Scope, Status> {
        match self.namespace() {
            "" => Ok(Scope::resource(&self.resource)),
            namespace => Scope::namespace(&self.resource, namespace)
                .map_err(|_| Status::not_found(self.group_resource(), "")),
        }
    }

    pub(crate) fn not_found(&self, name: &str) -> Status {
        Status::not_found(self.group_resource(), name)
    }

    /// An update or apply that creates the object needs permission to create it.
    pub(crate) fn authorize_create(&self) -> Result<(), Status> {
        let attributes = self.info.attributes("create");
        self.state.auth.authorize(self.user, &attributes)
    }

    pub(crate) fn user_agent(&self) -> &str {
        let agent = self.headers.get(USER_AGENT);
        agent
            .and_then(|agent| agent.to_str().ok())
            .unwrap_or_default()
    }

    /// The user, as admission and strategies see it.
    pub(crate) fn admission_user(&self) -> User<'_> {
        User {
            name: &self.user.name,
            uid: &self.user.uid,
            groups: &self.user.groups,
        }
    }

    /// What admission knows about a write of the main resource.
    pub(crate) fn attributes<'a>(
        &'a self,
        kind: &'a Kind,
        operation: Operation<'a>,
    ) -> Attributes<'a> {
        Attributes {
            kind,
            operation,
            subresource: "",
            namespace: self.namespace(),
            user: self.admission_user(),
            dry_run: false,
        }
    }

    /// Calls a function that evaluates CEL within the allowance of the thread. If that is not enough, it fails, and
    /// [`RequestContext::is_exhausted`].
    pub(crate) fn evaluate<T>(&self, function: impl FnOnce() -> T) -> Result<T, Status> {
        self.thread.allowance().apply(function).map_err(|_| {
            self.is_exhausted.store(true, Ordering::Relaxed);
            if self.thread.is_stopped() {
                return Status::service_unavailable("the request was stopped");
            }
            Status::unprocessable("the validation of the object is too expensive")
        })
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Relaxed)
    }

    pub(crate) fn warn_all(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            self.warn(warning);
        }
    }

    /// Adds a warning header to the response.
    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// The resource under which the store keeps a kind.
pub(crate) fn resource_of(kind: &Kind) -> Result<Resource, Status> {
    Resource::new(&kind.storage.group, &kind.plural).map_err(Status::internal)
}
