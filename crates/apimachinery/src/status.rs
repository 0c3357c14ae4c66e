//! The Kubernetes `Status`: how every failure, and a plain deletion, is told to a client.
//!
//! The constructors hold the texts that clients and people look for. [`field`] has errors about single fields,
//! [`authorization`] the sentence of a refused request. Writing it to a connection is somebody else's job.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::{GroupKind, GroupResource};

pub mod authorization;
pub mod field;

use field::quote;

const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Why a request failed, in a word for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Expired,
    Invalid,
    ServerTimeout,
    Timeout,
    TooManyRequests,
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    InternalError,
    ServiceUnavailable,
    /// The message is all there is.
    Unknown,
}

impl Reason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Expired => "Expired",
            Self::Invalid => "Invalid",
            Self::ServerTimeout => "ServerTimeout",
            Self::Timeout => "Timeout",
            Self::TooManyRequests => "TooManyRequests",
            Self::BadRequest => "BadRequest",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::InternalError => "InternalError",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Unknown => "",
        }
    }

    /// The HTTP code that goes with it.
    pub const fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Gone | Self::Expired => 410,
            Self::RequestEntityTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::ServerTimeout | Self::InternalError | Self::Unknown => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
        }
    }
}

/// One of several things that are wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cause {
    pub reason: String,
    pub message: String,
    pub field: String,
}

/// What the failure is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    pub name: String,
    pub group: String,
    /// The plural name of a resource; the kind where an object itself is wrong.
    pub kind: String,
    pub uid: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: u32,
}

/// An answer that is no object. As an error it displays its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Missing if nothing failed.
    pub reason: Option<Reason>,
    pub message: String,
    pub details: Option<Box<Details>>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

impl Status {
    /// The HTTP code of the answer.
    pub fn code(&self) -> u16 {
        self.reason.map_or(200, Reason::code)
    }

    /// The `Retry-After` header, in seconds.
    pub fn retry_after(&self) -> Option<u32> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then_some(seconds)
    }

    /// The answer to a deletion that is complete.
    pub fn deleted(resource: GroupResource<'_>, name: &str, uid: &str) -> Self {
        let mut details = about(resource, name);
        uid.clone_into(&mut details.uid);
        Self {
            reason: None,
            message: String::new(),
            details: Some(Box::new(details)),
        }
    }

    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} {} not found", quote(name));
        Self::new(Reason::NotFound, message).with(about(resource, name))
    }

    /// The answer where no resource is served at all.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(Reason::NotFound, message).with(Details::default())
    }

    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} {} already exists", quote(name));
        Self::new(Reason::AlreadyExists, message).with(about(resource, name))
    }

    /// The name is still that of an object that is being deleted.
    pub fn being_deleted(resource: GroupResource<'_>, name: &str) -> Self {
        let mut status = Self::already_exists(resource, name);
        status.message.insert_str(0, "object is being deleted: ");
        status
    }

    /// No free name was found for an object with a generated name.
    pub fn no_unique_name(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!(
            "{resource} {} already exists, the server was not able to generate a unique name for the object",
            quote(name)
        );
        let details = Details {
            retry_after_seconds: 1,
            ..about(resource, name)
        };
        Self::new(Reason::AlreadyExists, message).with(details)
    }

    pub fn conflict(resource: GroupResource<'_>, name: &str, why: impl fmt::Display) -> Self {
        let name_text = quote(name);
        let message = format!("Operation cannot be fulfilled on {resource} {name_text}: {why}");
        Self::new(Reason::Conflict, message).with(about(resource, name))
    }

    /// The object is not at the resource version that the client has seen.
    pub fn modified(resource: GroupResource<'_>, name: &str) -> Self {
        Self::conflict(resource, name, MODIFIED)
    }

    /// A precondition of a deletion does not hold. The real server names the kind here, not the resource.
    pub fn uid_differs(kind: GroupKind<'_>, name: &str, wanted: &str, found: &str) -> Self {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({found}). The object might have been deleted and then recreated"
        );
        Self::conflict(GroupResource::new(kind.group, kind.kind), name, why)
    }

    /// The other precondition of a deletion.
    pub fn version_differs(kind: GroupKind<'_>, name: &str, wanted: &str, found: &str) -> Self {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({found}). The object might have been modified"
        );
        Self::conflict(GroupResource::new(kind.group, kind.kind), name, why)
    }

    /// An apply met fields of other managers.
    pub fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Self {
        let details = Details {
            causes,
            ..Details::default()
        };
        Self::new(Reason::Conflict, message).with(details)
    }

    pub fn forbidden(resource: GroupResource<'_>, name: &str, why: impl fmt::Display) -> Self {
        let message = match (resource.resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{resource} is forbidden: {why}"),
            _ => format!("{resource} {} is forbidden: {why}", quote(name)),
        };
        Self::new(Reason::Forbidden, message).with(about(resource, name))
    }

    /// Nothing can be created in a namespace that is being deleted.
    pub fn namespace_terminating(resource: GroupResource<'_>, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        let details = Details {
            causes: vec![cause],
            ..about(resource, name)
        };
        Self::forbidden(resource, name, why).with(details)
    }

    pub fn invalid(kind: GroupKind<'_>, name: &str, errors: &[field::Error]) -> Self {
        let mut message = format!("{kind} {} is invalid", quote(name));
        let text = together(errors);
        if !text.is_empty() {
            message.push_str(": ");
            message.push_str(&text);
        }
        let causes = errors.iter().map(|error| Cause {
            reason: error.problem.reason().to_owned(),
            message: error.body(),
            field: error.field.clone(),
        });
        let details = Details {
            causes: causes.collect(),
            ..about(GroupResource::new(kind.group, kind.kind), name)
        };
        Self::new(Reason::Invalid, message).with(details)
    }

    /// A write that must say which version it replaces does not. The real server names the resource here.
    pub fn version_required(resource: GroupResource<'_>, name: &str) -> Self {
        let metadata = field::Path::root("metadata");
        let place = metadata.child("resourceVersion");
        let error = field::Error::invalid(&place, 0, "must be specified for an update");
        let kind = GroupKind::new(resource.group, resource.resource);
        Self::invalid(kind, name, &[error])
    }

    /// The server answers with this if it does not know who is asking.
    pub fn unauthorized() -> Self {
        Self::new(Reason::Unauthorized, "Unauthorized")
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(Reason::MethodNotAllowed, message).with(Details::default())
    }

    /// A verb that the resource has a path for and yet does not do.
    pub fn verb_not_supported(resource: GroupResource<'_>, verb: &str) -> Self {
        let kind = quote(&resource.to_string());
        let message = format!("{verb} is not supported on resources of kind {kind}");
        Self::new(Reason::MethodNotAllowed, message).with(about(resource, ""))
    }

    /// No form of the answer that the client accepts is among those on offer.
    pub fn not_acceptable(offered: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            offered.join(", ")
        );
        Self::new(Reason::NotAcceptable, message)
    }

    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(Reason::UnsupportedMediaType, message)
    }

    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(Reason::Expired, message)
    }

    /// A watch asks for events that are no longer kept.
    pub fn too_old(asked: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// A list asks for a revision that is yet to come.
    pub fn too_large(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let mut status = Self::timeout(&message, 1);
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                reason: "ResourceVersionTooLarge".to_owned(),
                message: "Too large resource version".to_owned(),
                field: String::new(),
            });
        }
        status
    }

    pub fn timeout(message: &str, retry_after_seconds: u32) -> Self {
        let details = Details {
            retry_after_seconds,
            ..Details::default()
        };
        Self::new(Reason::Timeout, format!("Timeout: {message}")).with(details)
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let details = Details {
            retry_after_seconds,
            ..Details::default()
        };
        Self::new(Reason::TooManyRequests, message).with(details)
    }

    pub fn too_large_body(message: &str) -> Self {
        let message = format!("Request entity too large: {message}");
        Self::new(Reason::RequestEntityTooLarge, message)
    }

    pub fn internal(error: impl fmt::Display) -> Self {
        let message = error.to_string();
        let details = Details {
            causes: vec![Cause {
                message: message.clone(),
                ..Cause::default()
            }],
            ..Details::default()
        };
        let message = format!("Internal error occurred: {message}");
        Self::new(Reason::InternalError, message).with(details)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Reason::ServiceUnavailable, message)
    }

    /// A failure for which the real server has no reason, only a text.
    pub fn unexplained(message: impl Into<String>) -> Self {
        Self::new(Reason::Unknown, message)
    }

    /// A patch that cannot be applied.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, message).with(Details::default())
    }

    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason: Some(reason),
            message: message.into(),
            details: None,
        }
    }

    #[must_use]
    pub fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }
}

fn about(resource: GroupResource<'_>, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: resource.group.to_owned(),
        kind: resource.resource.to_owned(),
        ..Details::default()
    }
}

/// All errors as one text: each once, in brackets if there are several.
pub fn together(errors: &[field::Error]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", "Status")?;
        map.serialize_entry("apiVersion", "v1")?;
        map.serialize_entry("metadata", &serde_json::Map::new())?;
        let outcome = if self.reason.is_some() {
            "Failure"
        } else {
            "Success"
        };
        map.serialize_entry("status", outcome)?;
        if !self.message.is_empty() {
            map.serialize_entry("message", &self.message)?;
        }
        if let Some(reason) = self.reason.filter(|reason| *reason != Reason::Unknown) {
            map.serialize_entry("reason", reason.as_str())?;
        }
        if let Some(details) = &self.details {
            map.serialize_entry("details", &**details)?;
        }
        if let Some(reason) = self.reason {
            map.serialize_entry("code", &reason.code())?;
        }
        map.end()
    }
}

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, text) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !text.is_empty() {
                map.serialize_entry(key, text)?;
            }
        }
        if !self.causes.is_empty() {
            map.serialize_entry("causes", &self.causes)?;
        }
        if self.retry_after_seconds > 0 {
            map.serialize_entry("retryAfterSeconds", &self.retry_after_seconds)?;
        }
        map.end()
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, text) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !text.is_empty() {
                map.serialize_entry(key, text)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
