//! One request for objects, with all that verbs need to know about it.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::USER_AGENT;
use http::request::Parts;
use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::{Kind, Kinds};
use outrigger_store::{Key, Resource, Scope};

use super::find::Target;
use crate::auth::Identity;
use crate::negotiate::Accept;
use crate::request::{Place, Query};
use crate::server::State;

/// A request whose kind and verb are known, by somebody who may.
#[derive(Debug)]
pub(crate) struct Call<'r> {
    pub(crate) state: &'r Arc<State>,
    pub(crate) who: &'r Identity,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) verb: &'static str,
    /// Where objects of the kind are kept.
    pub(crate) resource: Resource,
    pub(crate) place: Place<'r>,
    pub(crate) query: Query<'r>,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) accept: Accept,
    pub(crate) body: Bytes,
    warnings: Vec<String>,
}

impl<'r> Call<'r> {
    #[expect(clippy::too_many_arguments, reason = "the parts of a request are many")]
    pub(crate) fn new(
        state: &'r Arc<State>,
        who: &'r Identity,
        kinds: Arc<Kinds>,
        target: Target,
        place: Place<'r>,
        query: Query<'r>,
        parts: &'r Parts,
        accept: Accept,
    ) -> Result<Self, Status> {
        Ok(Self {
            state,
            who,
            kinds,
            resource: resource_of(&target.kind)?,
            kind: target.kind,
            verb: target.verb,
            place,
            query,
            headers: &parts.headers,
            accept,
            body: Bytes::new(),
            warnings: Vec::new(),
        })
    }

    pub(crate) fn namespace(&self) -> &str {
        self.place.object_namespace()
    }

    pub(crate) fn name(&self) -> &str {
        &self.place.name
    }

    pub(crate) fn group_resource(&self) -> GroupResource<'_> {
        self.kind.group_resource()
    }

    /// The place of the object that the path names.
    pub(crate) fn key(&self) -> Result<Key, Status> {
        self.key_of(self.name())
    }

    /// A name that fits into no key names nothing.
    pub(crate) fn key_of(&self, name: &str) -> Result<Key, Status> {
        let key = self.resource.key(self.namespace(), name);
        key.map_err(|_| self.not_found(name))
    }

    /// All objects that the path names.
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

    /// Whoever writes what is not there yet must be allowed to create it.
    pub(crate) fn authorize_create(&self) -> Result<(), Status> {
        let place = &self.place;
        let target = crate::auth::Target::Resource {
            group: &place.group,
            version: &place.version,
            resource: &place.resource,
            subresource: &place.subresource,
            namespace: &place.namespace,
            name: &place.name,
        };
        let attributes = crate::auth::Attributes {
            verb: "create",
            target,
        };
        self.state.auth.authorize(self.who, &attributes)
    }

    pub(crate) fn user_agent(&self) -> &str {
        let agent = self.headers.get(USER_AGENT);
        agent
            .and_then(|agent| agent.to_str().ok())
            .unwrap_or_default()
    }

    /// Tells the client something beside the answer.
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

/// Where objects of a kind are kept.
pub(crate) fn resource_of(kind: &Kind) -> Result<Resource, Status> {
    Resource::new(&kind.storage.group, &kind.plural).map_err(Status::internal)
}
