//! Why a cluster could not be asked or told something.

use crate::id::ObjectId;

/// What went wrong between us and the cluster, or in what it holds. Where Helm has words for it, they are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to ask the cluster what it serves")]
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
    #[error("{0} was made by somebody else meanwhile")]
    Appeared(Box<ObjectId>),
    /// Objects of kinds that the cluster does not know.
    #[error("unable to build kubernetes objects from release manifest: {}", unknown(.0))]
    UnknownKinds(Vec<ObjectId>),
    #[error("failed to {verb} the record {name}")]
    Storage {
        verb: &'static str,
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("the record {name} cannot be read: {reason}")]
    Record { name: String, reason: String },
    #[error("somebody else works on release {0}: the record of the next revision is already there")]
    Busy(String),
    #[error(transparent)]
    Chart(#[from] outrigger_chart::Error),
    #[error("{source_path}: {reason}")]
    Manifest { source_path: String, reason: String },
    #[error("{source_path}: an object of kind {kind:?} has no name")]
    Nameless { source_path: String, kind: String },
    #[error("rendering was cut short")]
    RenderEnded,
    #[error("image {image} of {object} ({field}) is not taken from {registry}")]
    ImageEscaped {
        image: String,
        object: String,
        field: String,
        registry: String,
    },
    #[error("{0:?} is no image registry: expected HOST[:PORT][/PATH]")]
    Registry(String),
    #[error("create: failed to create: namespaces {0:?} not found")]
    NoNamespace(String),
    #[error("release: not found")]
    NotFound,
    #[error("release has no {0} version")]
    NoRevision(u32),
    #[error(
        "the record of revision {0} is too large for one Secret, and what belongs to it is gone"
    )]
    Incomplete(u32),
}

impl Error {
    /// Whether the cluster says that we may not do it.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.status(), Some(status) if status.code == 403)
    }

    /// Whether trying again later may help without anybody changing anything: the server is away or busy.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Appeared(_) => true,
            Self::Discovery(error)
            | Self::Request { source: error, .. }
            | Self::Storage { source: error, .. } => match error {
                kube::Error::Api(status) => status.code == 429 || status.code >= 500,
                _ => true,
            },
            _ => false,
        }
    }

    /// What the server said, if it said something.
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

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Conflict { .. } => Some(
                "another manager owns these fields; leave them out, or take them with force".into(),
            ),
            Self::Request { object, .. }
                if self.status().is_some_and(|status| {
                    status.code == 422 && status.message.contains("immutable")
                }) =>
            {
                Some(format!(
                    "the field cannot be changed; delete {object} and try again"
                ))
            }
            _ if self.is_forbidden() => {
                Some("the account that does the work lacks a role for this".into())
            }
            _ => None,
        }
    }
}

/// All of them, in Helm's words.
fn unknown(objects: &[ObjectId]) -> String {
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

/// The words of an error and of all that caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut at = error.source();
    while let Some(cause) = at {
        let words = match cause.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => status.message.clone(),
            _ => cause.to_string(),
        };
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        at = match cause.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(_)) => None,
            _ => cause.source(),
        };
    }
    text
}
