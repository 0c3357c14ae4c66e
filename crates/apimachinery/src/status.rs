//! `metav1.Status`, the response of a failed request and of a completed deletion.
//!
//! Each constructor has the message of kube-apiserver, on which clients rely. [`field`] has errors about single fields,
//! [`authorization`] the message of a forbidden request.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::{GroupKind, GroupResource};

pub mod authorization;
pub mod field;

use field::quote;

const OPTIMISTIC_LOCK_ERROR: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// `metav1.StatusReason`: the machine-readable reason of a failure.
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
    /// Rejected by a mutating admission policy: `Invalid`, with the code of `Forbidden`.
    InvalidByPolicy,
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
    /// The disk is full. kube-apiserver has no such reason: it reports an internal error.
    InsufficientStorage,
    /// No reason; only the message explains the failure.
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
            Self::Invalid | Self::InvalidByPolicy => "Invalid",
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
            Self::InsufficientStorage => "InsufficientStorage",
            Self::Unknown => "",
        }
    }

    /// The HTTP status code.
    pub const fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::InvalidByPolicy => 403,
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
            Self::InsufficientStorage => 507,
        }
    }
}

/// `metav1.StatusCause`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cause {
    pub reason: String,
    pub message: String,
    pub field: String,
}

/// `metav1.StatusDetails`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    pub name: String,
    pub group: String,
    /// The resource; for an invalid object, its kind.
    pub kind: String,
    pub uid: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: u32,
}

/// `metav1.Status`. Displays its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// `None` for success.
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
    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        self.reason.map_or(200, Reason::code)
    }

    /// The value of the `Retry-After` header.
    pub fn retry_after(&self) -> Option<u32> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then_some(seconds)
    }

    /// The response to a completed deletion.
    pub fn deleted(resource: GroupResource<'_>, name: &str, uid: &str) -> Self {
        let mut details = details_of(resource, name);
        uid.clone_into(&mut details.uid);
        Self {
            reason: None,
            message: String::new(),
            details: Some(Box::new(details)),
        }
    }

    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} {} not found", quote(name));
        Self::new(Reason::NotFound, message).with_details(details_of(resource, name))
    }

    /// No resource is served at the path.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(Reason::NotFound, message).with_details(Details::default())
    }

    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} {} already exists", quote(name));
        Self::new(Reason::AlreadyExists, message).with_details(details_of(resource, name))
    }

    /// Create, while an object of this name is terminating.
    pub fn being_deleted(resource: GroupResource<'_>, name: &str) -> Self {
        let mut status = Self::already_exists(resource, name);
        status.message.insert_str(0, "object is being deleted: ");
        status
    }

    /// All attempts to generate a unique name from `generateName` failed.
    pub fn generate_name_conflict(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!(
            "{resource} {} already exists, the server was not able to generate a unique name for the object",
            quote(name)
        );
        let details = Details {
            retry_after_seconds: 1,
            ..details_of(resource, name)
        };
        Self::new(Reason::AlreadyExists, message).with_details(details)
    }

    pub fn conflict(resource: GroupResource<'_>, name: &str, reason: impl fmt::Display) -> Self {
        let name_text = quote(name);
        let message = format!("Operation cannot be fulfilled on {resource} {name_text}: {reason}");
        Self::new(Reason::Conflict, message).with_details(details_of(resource, name))
    }

    /// The resource version of the request is stale.
    pub fn modified(resource: GroupResource<'_>, name: &str) -> Self {
        Self::conflict(resource, name, OPTIMISTIC_LOCK_ERROR)
    }

    /// The UID precondition of a deletion failed. kube-apiserver reports the kind here, not the resource.
    pub fn uid_precondition_failed(
        kind: GroupKind<'_>,
        name: &str,
        expected: &str,
        actual: &str,
    ) -> Self {
        let reason = format!(
            "the UID in the precondition ({expected}) does not match the UID in record ({actual}). The object might have been deleted and then recreated"
        );
        Self::conflict(GroupResource::new(kind.group, kind.kind), name, reason)
    }

    /// The resource version precondition of a deletion failed.
    pub fn resource_version_precondition_failed(
        kind: GroupKind<'_>,
        name: &str,
        expected: &str,
        actual: &str,
    ) -> Self {
        let reason = format!(
            "the ResourceVersion in the precondition ({expected}) does not match the ResourceVersion in record ({actual}). The object might have been modified"
        );
        Self::conflict(GroupResource::new(kind.group, kind.kind), name, reason)
    }

    /// An apply conflicts with other field managers.
    pub fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Self {
        let details = Details {
            causes,
            ..Details::default()
        };
        Self::new(Reason::Conflict, message).with_details(details)
    }

    pub fn forbidden(resource: GroupResource<'_>, name: &str, reason: impl fmt::Display) -> Self {
        let message = match (resource.resource, name) {
            ("", _) => format!("forbidden: {reason}"),
            (_, "") => format!("{resource} is forbidden: {reason}"),
            _ => format!("{resource} {} is forbidden: {reason}", quote(name)),
        };
        Self::new(Reason::Forbidden, message).with_details(details_of(resource, name))
    }

    /// Create in a terminating namespace.
    pub fn namespace_terminating(resource: GroupResource<'_>, name: &str, namespace: &str) -> Self {
        let reason = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        };
        let details = Details {
            causes: vec![cause],
            ..details_of(resource, name)
        };
        Self::forbidden(resource, name, reason).with_details(details)
    }

    pub fn invalid(kind: GroupKind<'_>, name: &str, errors: &[field::Error]) -> Self {
        let mut message = format!("{kind} {} is invalid", quote(name));
        let text = field::to_aggregate(errors);
        if !text.is_empty() {
            message.push_str(": ");
            message.push_str(&text);
        }
        let causes = errors.iter().map(|error| Cause {
            reason: error.type_.reason().to_owned(),
            message: error.body(),
            field: error.field.clone(),
        });
        let details = Details {
            causes: causes.collect(),
            ..details_of(GroupResource::new(kind.group, kind.kind), name)
        };
        Self::new(Reason::Invalid, message).with_details(details)
    }

    /// An update without a resource version. kube-apiserver reports the resource here, not the kind.
    pub fn resource_version_required(resource: GroupResource<'_>, name: &str) -> Self {
        let metadata = field::Path::root("metadata");
        let path = metadata.child("resourceVersion");
        let error = field::Error::invalid(&path, 0, "must be specified for an update");
        let kind = GroupKind::new(resource.group, resource.resource);
        Self::invalid(kind, name, &[error])
    }

    /// The request is not authenticated.
    pub fn unauthorized() -> Self {
        Self::new(Reason::Unauthorized, "Unauthorized")
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(Reason::MethodNotAllowed, message).with_details(Details::default())
    }

    /// The resource exists but does not support the verb.
    pub fn method_not_supported(resource: GroupResource<'_>, verb: &str) -> Self {
        let kind = quote(&resource.to_string());
        let message = format!("{verb} is not supported on resources of kind {kind}");
        Self::new(Reason::MethodNotAllowed, message).with_details(details_of(resource, ""))
    }

    /// The server supports none of the media types that the client accepts.
    pub fn not_acceptable(supported: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            supported.join(", ")
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

    /// A watch from a resource version whose events are compacted.
    pub fn too_old_resource_version(requested: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {requested} ({oldest})"))
    }

    /// A list at a resource version that does not exist yet.
    pub fn too_large_resource_version(requested: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {requested}, current: {current}");
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
        Self::new(Reason::Timeout, format!("Timeout: {message}")).with_details(details)
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let details = Details {
            retry_after_seconds,
            ..Details::default()
        };
        Self::new(Reason::TooManyRequests, message).with_details(details)
    }

    pub fn request_entity_too_large(message: &str) -> Self {
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
        Self::new(Reason::InternalError, message).with_details(details)
    }

    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::new(Reason::ServiceUnavailable, message)
    }

    pub fn insufficient_storage(message: impl Into<String>) -> Self {
        Self::new(Reason::InsufficientStorage, message)
    }

    /// A failure for which kube-apiserver gives a message but no reason.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(Reason::Unknown, message)
    }

    /// A patch that cannot be applied.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, message).with_details(Details::default())
    }

    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason: Some(reason),
            message: message.into(),
            details: None,
        }
    }

    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }
}

fn details_of(resource: GroupResource<'_>, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: resource.group.to_owned(),
        kind: resource.resource.to_owned(),
        ..Details::default()
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", "Status")?;
        map.serialize_entry("apiVersion", "v1")?;
        map.serialize_entry("metadata", &serde_json::Map::new())?;
        let status = if self.reason.is_some() {
            "Failure"
        } else {
            "Success"
        };
        map.serialize_entry("status", status)?;
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

fn serialize_non_empty<M: SerializeMap, const N: usize>(
    map: &mut M,
    fields: [(&str, &String); N],
) -> Result<(), M::Error> {
    let fields = fields.into_iter();
    fields
        .filter(|(_, text)| !text.is_empty())
        .try_for_each(|(key, text)| map.serialize_entry(key, text))
}

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let fields = [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ];
        serialize_non_empty(&mut map, fields)?;
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
        let fields = [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ];
        serialize_non_empty(&mut map, fields)?;
        map.end()
    }
}

#[cfg(test)]
mod tests;
