//! Reasons to reject a plan before anything is changed.

use crate::id::ObjectId;
use crate::ownership::CannotImport;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Existing objects are not part of the release.
    #[error("unable to continue with {verb}: {}", lines(.objects))]
    InvalidOwnership {
        verb: &'static str,
        objects: Vec<CannotImport>,
    },
    #[error("unable to continue with {verb}: {}", lines(.objects.iter().map(namespace_not_found)))]
    NamespaceNotFound {
        verb: &'static str,
        objects: Vec<ObjectId>,
    },
    /// Does not quote the values: the live one may come from a Secret that has changed since.
    #[error(
        "{object} cannot be updated: {field} is immutable, and the desired value differs from the live one"
    )]
    ImmutableField {
        object: Box<ObjectId>,
        field: String,
    },
}

impl Rejection {
    pub fn hint(&self) -> String {
        match self {
            Self::InvalidOwnership { .. } => {
                "delete the objects, or use another release name".to_owned()
            }
            Self::NamespaceNotFound { .. } => {
                "create the namespace first, or depend on a plugin that creates it".to_owned()
            }
            Self::ImmutableField { object, .. } => {
                format!("delete {object} and retry, or leave the field unchanged")
            }
        }
    }
}

/// The API server's message.
fn namespace_not_found(object: &ObjectId) -> String {
    let namespace = object.namespace.as_deref().unwrap_or_default();
    format!("{object}: namespaces {namespace:?} not found")
}

fn lines(items: impl IntoIterator<Item = impl ToString>) -> String {
    let lines: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    lines.join("\n")
}
