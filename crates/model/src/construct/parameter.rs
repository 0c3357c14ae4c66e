//! A CloudFormation parameter.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Construct, Sharing, StackName, stack};
use crate::scope::Scope;

/// A parameter of a stack. Plugins that agree may share one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parameter {
    /// The stack.
    pub stack: StackName,
    /// The logical name.
    pub name: String,
    /// The parameter as in a template: `Type`, `Default`, `AllowedValues` and so on.
    pub body: Map<String, Value>,
    /// The value that the parent stack passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Construct for Parameter {
    const KIND: &'static str = "parameter";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        format!("{}/{}", self.stack, self.name)
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        self.stack.check(scope)?;
        stack::check_logical_name(&self.name)?;
        if self.stack == StackName::Root && self.value.is_some() {
            return Err("the root stack has no parent that passes a value; use Default".to_owned());
        }
        if self.body.get("Type").is_some_and(Value::is_string) {
            Ok(())
        } else {
            Err("has no Type".to_owned())
        }
    }
}
