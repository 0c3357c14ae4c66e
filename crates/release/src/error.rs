//! Errors of requests to the cluster and of the data that they return.

use crate::id::ObjectId;
use crate::record::DecodeError;

/// A failed request, an invalid chart or manifest, or an invalid release record. Helm's wording where Helm has one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to discover the API resources of the cluster")]
    Discovery(#[source] kube::Error),
    #[error("failed to {verb} {object}")]
    Request {
        verb: &'static str,
        object: Box<ObjectId>,
        #[source]
        source: kube::Error,
    },
    #[error("conflict occurred while applying object {object}: {message}")]
    Conflict {
        object: Box<ObjectId>,
        message: String,
    },
    #[error("{0} was created by another client after the plan was made")]
    CreatedMeanwhile(Box<ObjectId>),
    #[error("unable to build kubernetes objects from release manifest: {}", no_matches(.0))]
    UnknownKinds(Vec<ObjectId>),
    #[error("failed to {verb} release record {name}")]
    Storage {
        verb: &'static str,
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("failed to decode release record {name}")]
    Record {
        name: String,
        #[source]
        source: DecodeError,
    },
    #[error(
        "another operation is in progress on release {0}: the record of the next revision already exists"
    )]
    OperationInProgress(String),
    #[error("another operation is in progress on release {0}: its record has changed meanwhile")]
    RecordChanged(String),
    #[error(
        "Secret {0} has the name of a release record, but is not one; delete or rename it, or choose another release name"
    )]
    ForeignSecret(String),
    #[error("no revision can follow that of Secret {0}; delete the Secret")]
    LastRevision(String),
    #[error(transparent)]
    Chart(#[from] outrigger_chart::Error),
    #[error("{source_path}: {reason}")]
    Manifest {
        source_path: String,
        reason: InvalidManifest,
    },
    #[error("{source_path}: an object of kind {kind:?} has no name")]
    MissingName { source_path: String, kind: String },
    #[error("render task was aborted")]
    RenderAborted,
    #[error("render took longer than {} seconds", .0.as_secs())]
    RenderTimeout(std::time::Duration),
    #[error("image {image} of {object} ({field}) is not pulled from {registry}")]
    ImageNotRelocated {
        image: String,
        object: String,
        field: String,
        registry: String,
    },
    #[error("images {} and {} would both be pulled as {relocated}", images[0], images[1])]
    ImagesCollide {
        images: [String; 2],
        relocated: String,
    },
    #[error("{0:?} is not an image registry: expected HOST[:PORT][/PATH]")]
    InvalidRegistry(String),
    #[error("create: failed to create: namespaces {0:?} not found")]
    NamespaceNotFound(String),
    #[error("release: not found")]
    ReleaseNotFound,
    #[error("the release has no revision {0}")]
    RevisionNotFound(u32),
    #[error(
        "release record of revision {0} is truncated, and the Secrets with its parts are missing"
    )]
    RecordTruncated(u32),
}

/// Why a document of a manifest is not an object. Helm's wording where Helm has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidManifest {
    #[error("{0}")]
    Yaml(String),
    #[error("expected an object with apiVersion and kind")]
    NotAnObject,
    #[error("Object 'Kind' is missing")]
    MissingKind,
    #[error("Object 'apiVersion' is missing")]
    MissingApiVersion,
    #[error("`items` of a List is not a list")]
    InvalidItems,
}

impl Error {
    pub fn is_forbidden(&self) -> bool {
        matches!(self.status(), Some(status) if status.code == 403)
    }

    /// Whether a release record exceeds the limit. It may be valid, so it is not replaced as a damaged one is.
    pub(crate) fn is_record_too_large(&self) -> bool {
        let Self::Record { source, .. } = self else {
            return false;
        };
        matches!(source, DecodeError::TooLarge)
    }

    /// Whether nothing can be created, because the namespace is being deleted. The API server answers with 403 too.
    fn is_namespace_terminating(&self) -> bool {
        let status = self.status().filter(|status| status.code == 403);
        status.is_some_and(|status| status.message.ends_with("because it is being terminated"))
    }

    /// Whether a retry may succeed without any change: the API server is unreachable or overloaded, or lost a race.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::OperationInProgress(_) | Self::RecordChanged(_) | Self::CreatedMeanwhile(_) => {
                true
            }
            Self::Discovery(error)
            | Self::Request { source: error, .. }
            | Self::Storage { source: error, .. } => is_transient(error),
            _ => false,
        }
    }

    /// The `Status` in the response of the API server, if there is one.
    pub fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Discovery(kube::Error::Api(status))
            | Self::Request {
                source: kube::Error::Api(status),
                ..
            }
            | Self::Storage {
                source: kube::Error::Api(status),
                ..
            } => Some(status),
            _ => None,
        }
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Conflict { .. } => Some(
                "another field manager has changed these fields since they were applied".into(),
            ),
            Self::Request { object, .. }
                if self.status().is_some_and(|status| {
                    status.code == 422 && status.message.contains("immutable")
                }) =>
            {
                Some(format!("the field is immutable; delete {object} and retry"))
            }
            Self::ImagesCollide { .. } => Some(
                "set one of them to an image of the registry in the values of the chart".into(),
            ),
            Self::Record { name, .. } if self.is_record_too_large() => Some(format!(
                "delete Secret {name}; a record that the deployed revision needs is written again"
            )),
            _ if self.is_namespace_terminating() => {
                Some("the namespace is being deleted; retry when it is gone".into())
            }
            _ if self.is_forbidden() => Some(forbidden_hint(
                self.status().map_or("", |status| &status.message),
            )),
            _ => None,
        }
    }
}

/// How to permit what a user or service account may not do. Whether the account exists makes no difference to the server.
fn forbidden_hint(message: &str) -> String {
    let account = message
        .split('"')
        .find_map(|word| word.strip_prefix("system:serviceaccount:"))
        .and_then(|account| account.split_once(':'));
    match account {
        Some((namespace, name)) => format!(
            "service account {namespace}/{name} does not exist or lacks a role; `kubectl create serviceaccount {name} -n \
             {namespace}` creates it, `kubectl create rolebinding {name} -n {namespace} --clusterrole=admin \
             --serviceaccount={namespace}:{name}` permits what the admin of a namespace may do"
        ),
        None => "the user lacks a role that permits this".to_owned(),
    }
}

/// Helm's "no matches for kind" errors, joined as Helm joins them.
fn no_matches(objects: &[ObjectId]) -> String {
    let texts = objects.iter().map(|object| {
        format!(
            "resource mapping not found for name: {:?} namespace: {:?} from \"\": no matches for kind {:?} in version \
             {:?}\nensure CRDs are installed first",
            object.name,
            object.namespace.as_deref().unwrap_or_default(),
            object.kind,
            object.api_version
        )
    });
    match texts.collect::<Vec<_>>().as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

/// What is said about a response that cannot be decoded.
const INVALID_RESPONSE: &str = "the response of the server is not the expected object";

/// The message of an error and of all its sources, without repetitions.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let (message, next) = match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => (status.message.clone(), None),
            // The message of the parser would quote the response.
            Some(kube::Error::SerdeError(_)) => (INVALID_RESPONSE.to_owned(), None),
            _ => (error.to_string(), error.source()),
        };
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = next;
    }
    text
}

/// Whether a failed request may succeed when it is repeated. A real server answers an object that it cannot decode, such
/// as a text where a number belongs, with 500 and without a reason.
pub fn is_transient(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) if status.code == 500 => !status.reason.is_empty(),
        kube::Error::Api(status) => status.code == 429 || status.code > 500,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_about_roles_is_not_for_a_namespace_that_is_being_deleted() {
        let hint = |message: &str| {
            let status = kube::core::Status::failure(message, "Forbidden").with_code(403);
            let error = Error::Discovery(kube::Error::Api(Box::new(status)));
            error.hint().unwrap()
        };
        assert!(hint("secrets is forbidden: User \"x\" cannot list").contains("lacks a role"));
        let account =
            hint("secrets is forbidden: User \"system:serviceaccount:shop:deployer\" cannot list");
        let command = "kubectl create rolebinding deployer -n shop --clusterrole=admin --serviceaccount=shop:deployer";
        assert!(account.contains(command), "{account}");
        let terminating = "configmaps \"a\" is forbidden: unable to create new content in namespace gone because it is being terminated";
        assert!(hint(terminating).starts_with("the namespace is being deleted"));
    }
}
