//! A typed change to a CloudFormation resource that another plugin owns.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Construct, Sharing, StackName};
use crate::scope::Scope;

/// A change to one field of a resource. Plugins may change the same resource, but not the same field, except that all may
/// append to a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// The stack of the resource.
    pub stack: StackName,
    /// The logical name of the resource.
    pub resource: String,
    /// The field, as names from the resource downwards, such as `["Properties", "Tags"]`.
    pub path: Vec<String>,
    /// What to do with it.
    pub operation: Operation,
}

/// What a patch does to a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Sets the field, whether it exists or not. Missing parents are created.
    Set(Value),
    /// Adds items to the end of a list, which is created if it is missing.
    Append(Vec<Value>),
    /// Removes the field, which must exist.
    Remove,
}

impl Construct for Patch {
    const KIND: &'static str = "patch";
    const SHARING: Sharing = Sharing::Compatible;

    fn key(&self) -> String {
        format!("{}/{}", self.stack, self.resource)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.stack.check(scope)?;
        match self.path.first().map(String::as_str) {
            None => Err("the path is empty".to_owned()),
            Some("Type") => Err("the type of a resource cannot be changed".to_owned()),
            Some(_) => Ok(()),
        }
    }

    fn excludes(&self, other: &Self) -> bool {
        let overlap = self.path.starts_with(&other.path) || other.path.starts_with(&self.path);
        let both_append = matches!(
            (&self.operation, &other.operation),
            (Operation::Append(_), Operation::Append(_))
        );
        let both_append = both_append && self.path == other.path;
        overlap && !both_append && self != other
    }
}

/// Why a patch does not apply to a resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// A parent of the field is not an object.
    #[error("{0} is not an object")]
    NotAnObject(String),
    /// The field to append to is not a list.
    #[error("{0} is not a list")]
    NotAList(String),
    /// The field to remove does not exist.
    #[error("{0} does not exist")]
    NoSuchField(String),
}

impl Patch {
    /// Changes the body of the resource.
    pub fn apply(&self, body: &mut Map<String, Value>) -> Result<(), ApplyError> {
        let Some((field, parents)) = self.path.split_last() else {
            return Ok(());
        };
        let mut parent = body;
        for (depth, name) in parents.iter().enumerate() {
            let next = parent
                .entry(name)
                .or_insert_with(|| Value::Object(Map::new()));
            parent = next
                .as_object_mut()
                .ok_or_else(|| ApplyError::NotAnObject(self.path[..=depth].join(".")))?;
        }
        match &self.operation {
            Operation::Set(value) => {
                parent.insert(field.clone(), value.clone());
            }
            Operation::Append(items) => {
                let list = parent
                    .entry(field)
                    .or_insert_with(|| Value::Array(Vec::new()));
                let list = list
                    .as_array_mut()
                    .ok_or_else(|| ApplyError::NotAList(self.path.join(".")))?;
                list.extend(items.iter().cloned());
            }
            Operation::Remove => {
                parent
                    .remove(field)
                    .ok_or_else(|| ApplyError::NoSuchField(self.path.join(".")))?;
            }
        }
        Ok(())
    }
}
