//! Why a plan is refused before anything is changed.

use crate::id::ObjectId;

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Objects are there that belong to nobody or to somebody else. In Helm's words.
    #[error("unable to continue with {verb}: {}", .foreign.join("\n"))]
    Foreign {
        verb: &'static str,
        foreign: Vec<String>,
    },
    /// Objects are for namespaces that are not there.
    #[error("unable to continue with {verb}: {}", complaints(.objects))]
    NoNamespace {
        verb: &'static str,
        objects: Vec<ObjectId>,
    },
    /// A field would change that cannot be changed.
    #[error("{object} cannot be changed: {field} is immutable ({before} now, {after} wanted)")]
    Immutable {
        object: Box<ObjectId>,
        field: String,
        before: String,
        after: String,
    },
}

impl Refusal {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Foreign { .. } => {
                "delete the objects, rename the release, or take ownership of them".to_owned()
            }
            Self::NoNamespace { .. } => {
                "make the namespace first, or depend on a plugin that makes it".to_owned()
            }
            Self::Immutable { object, .. } => {
                format!("delete {object} and try again, or keep the field as it is")
            }
        }
    }
}

/// Each object with the words of the server.
fn complaints(objects: &[ObjectId]) -> String {
    let complaint = |object: &ObjectId| {
        let namespace = object.namespace.as_deref().unwrap_or_default();
        format!("{object}: namespaces {namespace:?} not found")
    };
    let complaints: Vec<String> = objects.iter().map(complaint).collect();
    complaints.join("\n")
}
