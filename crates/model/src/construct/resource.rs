//! A CloudFormation resource.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Construct, Sharing, StackName, stack};
use crate::scope::Scope;

/// A resource of a stack. It has one owner; others change it by patches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resource {
    /// The stack.
    pub stack: StackName,
    /// The logical name.
    pub name: String,
    /// The resource as in a template: `Type`, `Properties`, `DependsOn` and so on.
    pub body: Map<String, Value>,
}

/// The attributes that CloudFormation allows in a resource.
const ATTRIBUTES: [&str; 9] = [
    "Condition",
    "CreationPolicy",
    "DeletionPolicy",
    "DependsOn",
    "Metadata",
    "Properties",
    "Type",
    "UpdatePolicy",
    "UpdateReplacePolicy",
];

impl Construct for Resource {
    const KIND: &'static str = "resource";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        format!("{}/{}", self.stack, self.name)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.stack.check(scope)?;
        stack::check_logical_name(&self.name)?;
        if !self.body.get("Type").is_some_and(Value::is_string) {
            return Err("has no Type".to_owned());
        }
        match self
            .body
            .keys()
            .find(|key| !ATTRIBUTES.contains(&key.as_str()))
        {
            Some(unknown) => Err(format!("unknown attribute {unknown:?}")),
            None => Ok(()),
        }
    }
}
